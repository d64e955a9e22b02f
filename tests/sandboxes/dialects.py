"""The same scripts in the languages of the sandboxes, by name."""

from dataclasses import dataclass

PYTHON = {
    "value": "1 + 1",
    "objects": "{'a': [1, 2.5, None, True, 'ü'], 'b': {}}",
    "print": "print('one')\nimport sys\nprint('two')\n3",
    "call": "await gh.echo(q=1)",
    "call_in_function": "async def f(i):\n    return await gh.echo(q=i)\nawait f(7)",
    "caught": (
        "try:\n    await gh.fail()\nexcept ToolError as error:\n"
        "    found = [error.message, error.tool, error.data]\nfound"
    ),
    "uncaught": "x = 1\n\nawait gh.fail()",
    "builtin": "try:\n    await gh.missing()\nexcept KeyError as error:\n    found = 'KeyError'\nfound",
    "gather": "import asyncio\nlen(await asyncio.gather(*[gh.together(i=i) for i in range(20)]))",
    "many": "import asyncio\nawait asyncio.gather(*[gh.count(i=i) for i in range(12)])\n1",
    "slow": "await gh.slow()\n5",
    "never_awaited": "gh.echo(q=1)\n5",
    "argument_never_awaited": "await gh.echo(q=gh.echo(q=1))",
    "unknown": "await gh.nothing_like_it()",
    "unknown_server": "await elsewhere.tool()",
    "dynamic": "await getattr(gh, 'nothing' + '_like_it')()",
    "function": "await search_tools('x')",
    "raise": "def f():\n    raise ValueError('no')\n\nf()",
    "syntax": "await gh.echo(q=1)\nx = = 1",
    "remember": "kept = 5\ngh_kept = 6\nkept",
    "recall": "kept",
    "return": "for i in [1, 2, 3]:\n    if i == 2:\n        return i",
    "busy": "while True:\n    pass",
    "stubborn": "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass",
    "grow": "x = []\nwhile True:\n    x.append('a' * 100000 + str(len(x)))",
    "huge": "x = [0] * 10**9\nlen(x)",
    "recurse": "def f(n):\n    return f(n + 1)\nf(0)",
    "flood": "while True:\n    print('y' * 1000)",
    "long_print": "print('a' * 3000 + 'b' * 30000 + 'c' * 500)",
    "calls": "for i in range(1000):\n    await gh.echo(q=i)",
    "calls_at_once": "import asyncio\nawait asyncio.gather(*[gh.echo(q=i) for i in range(1000)])",
    "large_argument": "await gh.echo(q='a' * 2_000_000)",
    "shared": "x = [0]\nfor i in range(40):\n    x = [x, x]\nx",
    "deep": "x = []\nfor i in range(100_000):\n    x = [x]\nx",
    "cyclic": "x = [1]\nx.append(x)\nx",
    "wide": "list(range(1_000_000))",
    "large": "'a' * 10_000_000",
    "deep_argument": "x = []\nfor i in range(2000):\n    x = [x]\nawait gh.echo(q=x)",
    "cyclic_argument": "x = []\nx.append(x)\nawait gh.echo(q=x)",
    "not_a_number": "await gh.echo(q=float('nan'))",
    "doze": "import time\ntime.sleep(20)",
    "nap": "import asyncio\nawait asyncio.sleep(20)",
    "sleep": "import asyncio\nawait asyncio.sleep(1000)",
    "block": "import time\ntime.sleep(1000)",
    "swallow": (
        "try:\n    await gh.stop()\nexcept BaseException:\n    await gh.echo(q=1)\nfinally:\n    await gh.echo(q=2)"
    ),
    "swallow_in_gather": (
        "import asyncio\ntry:\n    await asyncio.gather(gh.stop(), gh.echo(q=3))\nexcept BaseException:\n    pass\n"
        "await gh.echo(q=4)"
    ),
    "wait": "await gh.never()",
    "odd_values": "float('inf')",
    "exit": "raise SystemExit(3)",
    "nested": "(" * 3000 + "1" + ")" * 3000,
}

JAVASCRIPT = {
    "value": "1 + 1",
    "objects": "({a: [1, 2.5, null, true, 'ü'], b: {}})",
    "print": "console.log('one')\nprint('two')\n3",
    "call": "await gh.echo({q: 1})",
    "call_in_function": "const f = async (i) => await gh.echo({q: i})\nawait f(7)",
    "caught": (
        "let found\ntry { await gh.fail() } catch (error) {\n"
        "  if (error instanceof ToolError) found = [error.message, error.tool, error.data]\n}\nfound"
    ),
    "uncaught": "const x = 1\n\nawait gh.fail()",
    "builtin": "let found\ntry { await gh.wrong() } catch (error) { found = error.name }\nfound",
    "gather": "(await Promise.all(Array.from({length: 20}, (_, i) => gh.together({i})))).length",
    "many": "await Promise.all(Array.from({length: 12}, (_, i) => gh.count({i})))\n1",
    "slow": "await gh.slow()\n5",
    "never_awaited": "gh.echo({q: 1})\n5",
    "argument_never_awaited": "await gh.echo({q: gh.echo({q: 1})})",
    "unknown": "await gh.nothing_like_it()",
    "unknown_server": "await elsewhere.tool()",
    "dynamic": "await gh['nothing' + '_like_it']()",
    "function": "await search_tools('x')",
    "raise": "function f() {\n  throw new RangeError('no')\n}\nf()",
    "syntax": "await gh.echo({q: 1})\nconst x = = 1",
    "remember": "globalThis.kept = 5\nkept",
    "recall": "kept",
    "return": "for (const i of [1, 2, 3]) {\n  if (i === 2) return i\n}",
    "busy": "while (true) {}",
    "stubborn": "while (true) { try { await null } catch {} }",
    "grow": "const x = []\nwhile (true) x.push('a'.repeat(100) + x.length)",
    "huge": "const x = []\nwhile (true) x.push(new Uint8Array(20_000_000).fill(1))",
    "recurse": "const f = (n) => f(n + 1) + 1\nf(0)",
    "flood": "while (true) console.log('y'.repeat(1000))",
    "long_print": "console.log('a'.repeat(3000) + 'b'.repeat(30000) + 'c'.repeat(500))",
    "calls": "for (let i = 0; i < 1000; i++) await gh.echo({q: i})",
    "calls_at_once": "await Promise.all(Array.from({length: 1000}, (_, i) => gh.echo({q: i})))",
    "large_argument": "await gh.echo({q: 'a'.repeat(2_000_000)})",
    "shared": "let x = [0]\nfor (let i = 0; i < 40; i++) x = [x, x]\nx",
    "deep": "let x = []\nfor (let i = 0; i < 100_000; i++) x = [x]\nx",
    "cyclic": "const x = [1]\nx.push(x)\nx",
    "wide": "Array.from({length: 1_000_000}, (_, i) => i)",
    "large": "'a'.repeat(10_000_000)",
    "deep_argument": "let x = []\nfor (let i = 0; i < 2000; i++) x = [x]\nawait gh.echo({q: x})",
    "cyclic_argument": "const x = []\nx.push(x)\nawait gh.echo({q: x})",
    "not_a_number": "await gh.echo({q: () => 1n, [Symbol.iterator]: 1, toJSON() { throw new Error('no') }})",
    "doze": "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20_000)",
    "nap": "await new Promise((done) => setTimeout(done, 20_000))",
    "sleep": "await new Promise((done) => setTimeout(done, 1_000_000))",
    "block": "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000_000)",
    "swallow": "try { await gh.stop() } catch { await gh.echo({q: 1}) } finally { await gh.echo({q: 2}) }",
    "swallow_in_gather": ("try { await Promise.all([gh.stop(), gh.echo({q: 3})]) } catch {}\nawait gh.echo({q: 4})"),
    "wait": "await gh.never()",
    "odd_values": "Infinity",
    "exit": "Deno.exit(3)",
    "nested": "(" * 3000 + "1" + ")" * 3000,
}

ESCAPES_PYTHON = {
    "open": "got = open({path!r}).read()",
    "open by descriptor": "got = open(3).read()",
    "pathlib": "import pathlib; got = pathlib.Path({path!r}).read_text()",
    "listing": "import os; got = os.listdir({folder!r})",
    "walking": "import os; got = [x for x in os.walk({folder!r})][0]",
    "password file": "got = open('/etc/passwd').read()",
    "memory of the host": "got = open('/proc/{pid}/environ', 'rb').read()",
    "files of the host": "import os; got = os.listdir('/proc/{pid}/fd')",
    "writing": "open({path!r} + '.new', 'w').write('x'); got = 1",
    "writing to /tmp": "open({escape!r}, 'w').write('x'); got = 1",
    "linking": "import os; os.symlink({path!r}, {path!r} + '.link'); got = 1",
    "renaming": "import os; os.rename({path!r}, {path!r} + '.moved'); got = 1",
    "removing": "import os; os.unlink({path!r}); got = 1",
    "mode": "import os; os.chmod({path!r}, 0o777); got = 1",
    "times": "import os; os.utime({path!r}, (0, 0)); got = 1",
    "truncating": "import os; os.truncate({path!r}, 0); got = 1",
    "a folder": "import os; os.mkdir({path!r} + '.d'); got = 1",
    "a named pipe": "import os; os.mkfifo({path!r} + '.p'); got = 1",
    "environment": "import os; got = os.environ[{variable!r}]",
    "environment by getenv": "import os\ngot = os.getenv({variable!r})\nassert got",
    "socket": "import socket; got = socket.socket()",
    "connecting": "import socket; got = socket.create_connection(('127.0.0.1', {port}), 1)",
    "unix socket": "import socket; got = socket.socket(socket.AF_UNIX)",
    "datagram": "import socket; got = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
    "socket pair": "import socket; got = socket.socketpair()",
    "urllib": "import urllib.request; got = urllib.request.urlopen('http://127.0.0.1:{port}/', timeout=1)",
    "name look-up": "import socket; got = socket.getaddrinfo('example.com', 80)",
    "subprocess": "import subprocess; got = subprocess.run(['/bin/true'])",
    "shell": "import os\ngot = os.system('true') == 0\nassert got",
    "popen": "import os; got = os.popen('echo a').read()\nassert got",
    "fork": "import os; got = os.fork()",
    "spawn": "import os; got = os.posix_spawn('/bin/true', ['true'], {{}})",
    "exec": "import os; os.execv('/bin/true', ['true'])",
    "multiprocessing": "import multiprocessing as m; p = m.Process(target=print); p.start(); got = 1",
    "killing the host": "import os; os.kill({pid}, 0); got = 1",
    "killing all": "import os, signal; os.kill(-1, signal.SIGCONT); got = 1",
    "killing the group": "import os, signal; os.killpg(0, signal.SIGCONT); got = 1",
    "priority of the host": "import os; os.setpriority(os.PRIO_PROCESS, {pid}, 5); got = 1",
    "affinity of the host": "import os; os.sched_setaffinity({pid}, [0]); got = 1",
    "limits of the host": "import resource; resource.prlimit({pid}, resource.RLIMIT_CORE, (0, 0)); got = 1",
    "own limits": "import resource; resource.setrlimit(resource.RLIMIT_CPU, (-1, -1)); got = 1",
    "ctypes": "import ctypes; got = ctypes.CDLL(None).socket(2, 1, 0)\nassert got >= 0",
    "ptrace": "import ctypes; got = ctypes.CDLL(None).ptrace(16, {pid}, 0, 0)\nassert got >= 0",
    "reading the host": (
        "import ctypes\nl = ctypes.CDLL(None, use_errno=True)\nb = ctypes.create_string_buffer(64)\n"
        "class V(ctypes.Structure):\n    _fields_ = [('b', ctypes.c_void_p), ('n', ctypes.c_size_t)]\n"
        "v = V(ctypes.addressof(b), 64)\ngot = l.process_vm_readv({pid}, ctypes.byref(v), 1, ctypes.byref(v), 1, 0)\n"
        "assert got >= 0"
    ),
    "mount": "import ctypes; got = ctypes.CDLL(None).mount(b'none', b'/tmp', b'tmpfs', 0, None)\nassert got == 0",
    "unshare": "import ctypes; got = ctypes.CDLL(None).unshare(0x10000000)\nassert got == 0",
    "io_uring": "import ctypes; got = ctypes.CDLL(None).syscall(425, 4, None)\nimport os\nassert got >= 0",
    "pidfd": "import os; got = os.pidfd_open({pid})",
    "memfd": "import os; got = os.memfd_create('x')",
    "shared memory": "from multiprocessing import shared_memory as s; got = s.SharedMemory('x', True, 10)",
    "inotify": "import ctypes; got = ctypes.CDLL(None).inotify_init()\nassert got >= 0",
    "pickle": (
        "import pickle, os\nclass A:\n    def __reduce__(self): return (os.fork, ())\n"
        "got = pickle.loads(pickle.dumps(A()))"
    ),
    "subclasses": (
        "p = [c for c in ().__class__.__base__.__subclasses__() if c.__name__ == 'Popen'][0]\ngot = p(['/bin/true'])"
    ),
    "globals of a tool": "got = gh.echo.__globals__[{variable!r}]",
    "tool's own code": "got = open(gh.echo.__code__.co_filename).read()",
    "module of a tool": "got = __import__(gh.echo.__module__).secret",
    "format": "got = '{{0.__class__.__init__.__globals__[{variable}]}}'.format(gh)",
    "frames": (
        "import sys; got = [f for f in sys._current_frames().values() if {variable!r} in str(f.f_back.f_locals)][0]"
    ),
    "packages": "import toolcrib.config; got = 1",
    "site": "import site; got = __import__('pydantic')",
    "pip": "import ensurepip; ensurepip.bootstrap(); got = 1",
}

ESCAPES_JAVASCRIPT = {
    "read": "got = Deno.readTextFileSync({path!r})",
    "open": "got = await Deno.open({path!r})",
    "stat": "got = Deno.statSync({path!r})",
    "listing": "got = [...Deno.readDirSync({folder!r})]",
    "password file": "got = Deno.readTextFileSync('/etc/passwd')",
    "memory of the host": "got = Deno.readFileSync('/proc/{pid}/environ')",
    "writing": "Deno.writeTextFileSync({path!r} + '.new', 'x'); got = 1",
    "writing to /tmp": "Deno.writeTextFileSync({escape!r}, 'x'); got = 1",
    "temporary file": "got = Deno.makeTempFileSync()",
    "linking": "Deno.symlinkSync({path!r}, {path!r} + '.link'); got = 1",
    "renaming": "Deno.renameSync({path!r}, {path!r} + '.moved'); got = 1",
    "removing": "Deno.removeSync({path!r}); got = 1",
    "mode": "Deno.chmodSync({path!r}, 0o777); got = 1",
    "environment": "got = Deno.env.get({variable!r})",
    "all of the environment": "got = Deno.env.toObject()",
    "node's environment": "got = (await import('node:process')).default.env[{variable!r}]",
    "host name": "got = Deno.hostname()",
    "system": "got = Deno.systemMemoryInfo()",
    "connect": "got = await Deno.connect({{hostname: '127.0.0.1', port: {port}}})",
    "fetch": "got = await fetch('http://127.0.0.1:{port}/')",
    "web socket": "got = new WebSocket('ws://127.0.0.1:{port}/')",
    "listen": "got = Deno.listen({{port: 0}})",
    "serve": "got = Deno.serve({{port: 0}}, () => new Response('x'))",
    "datagram": "got = Deno.listenDatagram({{port: 0, transport: 'udp'}})",
    "dns": "got = await Deno.resolveDns('example.com', 'A')",
    "command": "got = new Deno.Command('/bin/true').outputSync()",
    "kill": "Deno.kill({pid}, 'SIGCONT'); got = 1",
    "dlopen": "got = Deno.dlopen('libc.so.6', {{}})",
    "node fs": "got = (await import('node:fs')).readFileSync({path!r}, 'utf8')",
    "node fs promises": "got = await (await import('node:fs/promises')).readFile({path!r}, 'utf8')",
    "node child": "got = (await import('node:child_process')).execSync('true')",
    "node spawn": "got = (await import('node:child_process')).spawnSync('/bin/true').status === 0 ? 1 : 0",
    "node net": (
        "const net = await import('node:net'); got = await new Promise((yes, no) => "
        "{{ const s = net.connect({port}, '127.0.0.1', () => yes(1)); s.on('error', no) }})"
    ),
    "node kill": "(await import('node:process')).default.kill({pid}, 0); got = 1",
    "node require": "got = (await import('node:module')).createRequire('file:///').call(null, {path!r})",
    "node sqlite": "const s = await import('node:sqlite'); got = new s.DatabaseSync({path!r} + '.db')",
    "import of a file": "got = await import('file://' + {path!r})",
    "import of a file as text": "got = (await import('file://' + {path!r}, {{with: {{type: 'text'}}}})).default",
    "import of a file as bytes": "got = (await import('file://' + {path!r}, {{with: {{type: 'bytes'}}}})).default",
    "import inside data": (
        "got = (await import('data:application/javascript,' + encodeURIComponent("
        "'import x from \"file://' + {path!r} + '\" with {{type: \"text\"}}; export default x'))).default"
    ),
    "import over http": "got = await import('http://127.0.0.1:{port}/x.js')",
    "import from a registry": "got = await import('npm:left-pad')",
    "import from jsr": "got = await import('jsr:@std/assert')",
    "permission": "got = (await Deno.permissions.request({{name: 'read'}})).state === 'granted' ? 1 : 0",
    "worker that reads": (
        "got = await new Promise((yes, no) => {{ const w = new Worker('data:application/javascript,' + "
        "encodeURIComponent('postMessage(Deno.readTextFileSync(' + JSON.stringify({path!r}) + '))'), "
        "{{type: 'module'}}); w.onmessage = (e) => yes(e.data); w.onerror = (e) => {{ e.preventDefault(); no(e) }} }})"
    ),
    "constructor": "got = gh.echo.constructor('return Deno')().readTextFileSync({path!r})",
    "storage": "localStorage.setItem('a', 'b'); got = 1",
    "cache": "got = await caches.open('x')",
    "internals": "got = Deno[Deno.internal].core.ops.op_read_file_text_sync({path!r})",
}


@dataclass(frozen=True)
class Dialect:
    """The scripts of one language."""

    name: str
    scripts: dict[str, str]
    escapes: dict[str, str]

    def escape(self, **facts: object) -> str:
        """One script that tries everything, and returns the names of what succeeded."""
        if self.name == "python":
            lines = ["found = []"]
            for name, code in self.escapes.items():
                text = code.format(**facts)
                lines += ["try:", f"    exec({text!r})", f"    found.append({name!r})", "except BaseException: pass"]
            return "\n".join([*lines, "found"])
        lines = ["const found = []"]
        for name, code in self.escapes.items():
            lines += [f"try {{ let got; {code.format(**facts)}; if (got) found.push({name!r}) }} catch {{}}"]
        return "\n".join([*lines, "found"])


DIALECTS = {
    "python": Dialect("python", PYTHON, ESCAPES_PYTHON),
    "javascript": Dialect("javascript", JAVASCRIPT, ESCAPES_JAVASCRIPT),
}
