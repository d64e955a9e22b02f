// The child of `typescript` and `javascript`: runs one script and speaks with its host in lines of JSON.
// Nothing here is a wall: Deno's permissions and the limits around the process are.

const own = {
  encode: (value) => new TextEncoder().encode(JSON.stringify(value) + "\n"),
  write: Deno.stdout.writeSync.bind(Deno.stdout),
  stringify: JSON.stringify,
  parse: JSON.parse,
  exit: Deno.exit,
};

function send(message) {
  let data = own.encode(message);
  while (data.length) data = data.subarray(own.write(data));
}

class ToolError extends Error {
  constructor(message, tool = "", data = null) {
    super(message);
    this.name = "ToolError";
    this.tool = tool;
    this.data = data;
  }
}

const waiting = new Map();
let calls = 0;
let limits = { arguments: 0, nodes: 0, depth: 0, result: 0 };
let held = [];
let heldSize = 0;

function flush() {
  const texts = held;
  held = [];
  heldSize = 0;
  for (const [stream, text] of texts) {
    for (let at = 0; at < text.length; at += 16384) {
      send({ t: "print", stream, text: text.slice(at, at + 16384) });
    }
  }
}

function print(stream, values) {
  const text = values.map((value) => (typeof value === "string" ? value : shown(value))).join(" ") + "\n";
  held.push([stream, text]);
  heldSize += text.length;
  if (heldSize > 4096) flush();
}

function shown(value) {
  if (value === undefined) return "undefined";
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  const text = own.stringify(bounded(value));
  return text === undefined ? String(value) : text;
}

function bounded(value) {
  let nodes = limits.nodes;
  let size = limits.result;
  const walk = (item, depth) => {
    nodes -= 1;
    size -= 2;
    if (item === null || item === undefined || typeof item === "boolean") return item ?? null;
    if (typeof item === "number") return Number.isFinite(item) ? item : String(item);
    if (typeof item === "bigint") return item.toString().slice(0, 1000);
    if (typeof item === "string") {
      const kept = item.slice(0, Math.max(size, 0) + 1);
      size -= kept.length;
      return kept;
    }
    if (typeof item !== "object") return `<${typeof item}>`;
    if (depth > limits.depth || nodes < -1 || size < -1) return "…";
    if (item instanceof Date) return Number.isNaN(item.getTime()) ? "Invalid Date" : item.toISOString();
    if (item instanceof Error) return `${item.name}: ${item.message}`;
    if (item instanceof Map) return walk(Object.fromEntries(take(item)), depth);
    if (Array.isArray(item) || item instanceof Set || ArrayBuffer.isView(item)) {
      const made = [];
      for (const each of take(item instanceof DataView ? [] : item)) made.push(walk(each, depth + 1));
      return made;
    }
    const made = Object.create(null);
    for (const key of Object.keys(item)) {
      if (nodes < -1 || size < -1) break;
      size -= key.length;
      made[key.slice(0, 10000)] = walk(item[key], depth + 1);
    }
    return made;
  };
  const take = function* (items) {
    for (const each of items) {
      if (nodes < -1 || size < -1) return;
      yield each;
    }
  };
  return walk(value, 0);
}

function call(name, args) {
  const text = own.stringify(args, (_, value) => {
    if (!(value instanceof Promise)) return typeof value === "bigint" ? value.toString() : value;
    throw new TypeError(`An argument of ${name} is a call that was never awaited: write \`await\` before it.`);
  });
  if (text === undefined || text.length > limits.arguments) {
    throw new RangeError(`The arguments of ${name} are larger than ${limits.arguments} bytes.`);
  }
  if (depth(text) > 200) throw new RangeError(`An argument of ${name} is nested deeper than 200 levels.`);
  flush();
  calls += 1;
  const id = calls;
  const place = new Error();
  const reject = (fail) => (error) => {
    // where the script called, not where the answer came in
    error.stack = `${error.name}: ${error.message}\n${String(place.stack).split("\n").slice(1).join("\n")}`;
    fail(error);
  };
  const answered = new Promise((resolve, fail) => waiting.set(id, { resolve, reject: reject(fail) }));
  // a call that nobody awaits and that fails is no reason to end the script
  answered.catch(() => {});
  send({ t: "call", id, name, args: own.parse(text), kwargs: {}, line: lineOf(place) });
  return answered;
}

function depth(text) {
  let now = 0;
  let most = 0;
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (quoted) {
      if (char === "\\") at++;
      else quoted = char !== '"';
    } else if (char === '"') quoted = true;
    else if (char === "[" || char === "{") most = Math.max(most, ++now);
    else if (char === "]" || char === "}") now--;
  }
  return most;
}

const callable = (name) => (...args) => call(name, args);

function namespace(name) {
  return new Proxy(Object.create(null), {
    get: (_, tool) => (typeof tool === "string" && tool !== "then" ? callable(`${name}.${tool}`) : undefined),
    has: () => true,
  });
}

function lineOf(error) {
  const found = /data:application\/[a-z]+;[^,]*,[^\s:)]*:(\d+):\d+/.exec(String(error.stack));
  return found ? Number(found[1]) : null;
}

function linesOf(error) {
  const lines = [];
  const stack = String(error && error.stack);
  for (const found of stack.matchAll(/data:application\/[a-z]+;[^,]*,[^\s:)]*:(\d+):\d+/g)) lines.unshift(Number(found[1]));
  return lines.slice(-12);
}

function kindOf(answer) {
  const kinds = { TypeError, RangeError, SyntaxError, ReferenceError };
  if (answer.kind === "AttributeError") return new TypeError(answer.message);
  if (answer.kind === "NameError") return new ReferenceError(answer.message);
  const kind = kinds[answer.kind];
  return kind ? new kind(answer.message) : new ToolError(answer.message, answer.tool, answer.data);
}

function fault(error, rejected) {
  flush();
  let kind = error instanceof Error ? error.name : "Error";
  let message = error instanceof Error ? error.message : `thrown: ${shown(error)}`;
  const trace = error instanceof Error ? linesOf(error) : [];
  if (rejected) {
    const place = /data:application\/[a-z]+;[^\s]*:(\d+):\d+/.exec(message);
    if (place && !trace.length) trace.push(Number(place[1]));
    if (message.startsWith("SyntaxError: ")) kind = "SyntaxError";
    message = message.split("\n")[0].replace(/^SyntaxError: /, "").replace(/data:application\/[^\s]+/g, "script");
  }
  send({ t: "error", kind, message: String(message).slice(0, 4000), trace, rejected });
}

function module(code, language) {
  let text = "";
  for (const byte of new TextEncoder().encode(code)) text += String.fromCharCode(byte);
  const kind = language === "typescript" ? "typescript" : "javascript";
  return import(`data:application/${kind};charset=utf-8;base64,${btoa(text)}`);
}

async function run(message) {
  limits = message.limits;
  for (const name of message.namespaces) globalThis[name] = namespace(name);
  for (const name of message.functions) globalThis[name] = callable(name);
  globalThis.ToolError = ToolError;
  globalThis.print = (...values) => print("stdout", values);
  globalThis.console = {};
  for (const name of ["log", "info", "debug", "table"]) console[name] = (...values) => print("stdout", values);
  for (const name of ["warn", "error", "trace"]) console[name] = (...values) => print("stderr", values);
  let script = null;
  let first = null;
  for (const code of message.forms) {
    try {
      script = await module(code, message.language);
      break;
    } catch (error) {
      // the forms differ in whether the last expression is returned; nothing has run yet
      first = first ?? error;
      if (code === message.forms.at(-1)) return fault(error, true);
    }
  }
  if (message.check) return send({ t: "done", value: null });
  try {
    const value = await script.default();
    flush();
    send({ t: "done", value: bounded(value) });
  } catch (error) {
    fault(error, false);
  }
}

function take(message) {
  if (message.t === "run") return void run(message);
  const found = waiting.get(message.id);
  waiting.delete(message.id);
  if (!found) return;
  if (message.error) found.reject(kindOf(message.error));
  else found.resolve(message.value);
}

addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  fault(event.reason, false);
});

async function listen() {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of Deno.stdin.readable) {
    rest += decoder.decode(chunk, { stream: true });
    const lines = rest.split("\n");
    rest = lines.pop();
    for (const line of lines) take(own.parse(line));
  }
  own.exit(0);
}

// what would outlast the script, or be for nothing without permissions
for (const name of ["caches", "localStorage", "sessionStorage", "indexedDB", "alert", "confirm", "prompt"]) {
  delete globalThis[name];
}
send({ t: "ready" });
listen();
