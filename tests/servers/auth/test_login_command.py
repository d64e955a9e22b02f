"""`toolcrib servers login` and `logout`, as processes of their own; the test is the browser."""

import json
import os
import re
import subprocess
import sys
from contextlib import contextmanager

import httpx2
import pytest

BROWSER = """
import sys, urllib.request
urllib.request.urlopen(sys.argv[1]).read()
"""


class Shell:
    """Runs the command line over a configuration, without a desktop unless told otherwise."""

    def __init__(self, folder, entry):
        self._folder = folder
        (folder / "config").mkdir()
        servers = {"one": entry, "local": {"command": "no-such-command"}}
        servers["keyed"] = {**entry, "headers": {"Authorization": "Bearer key"}}
        (folder / "config" / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
        self.env = {name: value for name, value in os.environ.items() if "DISPLAY" not in name and name != "BROWSER"}
        self.env |= {
            "TOOLCRIB_CONFIG_DIR": str(folder / "config"),
            "TOOLCRIB_STATE_DIR": str(folder / "state"),
            "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
        }

    def run(self, *words, **env):
        done = subprocess.run(
            [sys.executable, "-m", "toolcrib", *words],
            env={**self.env, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert "Traceback" not in done.stderr
        return done

    @contextmanager
    def started(self, *words):
        """A command that waits for its login; gives it and the address where that takes place."""
        command = [sys.executable, "-m", "toolcrib", *words]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, env=self.env, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
            try:
                lines = iter(process.stderr.readline, "")
                yield process, next(line.strip() for line in lines if re.match(r"\s+http://", line))
            finally:
                process.kill()

    def log_in(self, *words):
        """Log in with a browser that is a program."""
        script = self._folder / "browser.py"
        script.write_text(BROWSER)
        return self.run("servers", "login", "one", *words, BROWSER=f"{sys.executable} {script} %s")


@pytest.fixture
def shell(tmp_path, authority):
    return Shell(tmp_path, authority.entry)


def ended_at(url):
    """Where a browser that can't reach the port of a login is at the end."""
    return httpx2.get(url).headers["location"]


def test_a_server_that_wants_a_login_is_shown_with_the_command(shell):
    shown = shell.run("servers", "one", "--refresh")
    assert shown.returncode == 1
    assert re.search(r"^one +needs_auth ", shown.stdout, re.MULTILINE)
    assert "`toolcrib servers login one` logs in." in shown.stdout
    found = json.loads(shell.run("servers", "one", "--refresh", "--json").stdout)["servers"][0]
    assert found["state"] == "needs_auth"
    assert "toolcrib servers login one" in found["reason"]


def test_a_login_in_the_browser_serves_all_later_commands(shell, authority):
    done = shell.log_in()
    assert (done.returncode, done.stdout.splitlines()) == (
        0,
        [f"Logged in to one at {authority.url}; kept in a file that only you can read.", "It lists 2 tools."],
    )
    assert shell.run("call", "one.read").stdout == "read: done\n"
    assert len(authority.authorizations) == 1


def test_without_a_browser_the_address_is_printed_and_the_one_it_ends_at_is_pasted(shell, authority):
    with shell.started("servers", "login", "one") as (process, url):
        out, err = process.communicate(f"what?\n{ended_at(url)}\n", timeout=60)
    assert process.returncode == 0, out + err
    assert out.startswith(f"Logged in to one at {authority.url}")


def test_a_browser_that_can_return_needs_nothing_pasted(shell):
    with shell.started("servers", "login", "one", "--no-browser") as (process, url):
        page = httpx2.get(url, follow_redirects=True)
        assert "You are logged in." in page.text
        assert 'rel=icon href="data:,"' in page.text  # else a browser asks a port on which nobody listens any more
        assert process.wait(timeout=60) == 0  # though its input is still open


def test_a_port_can_be_chosen(shell, unused_port):
    with shell.started("servers", "login", "one", "--no-browser", "--port", str(unused_port)) as (process, url):
        assert httpx2.URL(url).params["redirect_uri"] == f"http://127.0.0.1:{unused_port}/callback"
        httpx2.get(url, follow_redirects=True)
        assert process.wait(timeout=60) == 0


def test_a_login_is_told_as_json_without_what_is_secret(shell, authority):
    done = shell.log_in("--json")
    told = json.loads(done.stdout)
    assert (told["issuer"], told["scope"], told["kept_in"]) == (authority.url, "notes", "file")
    assert told["server"]["state"] in {"ready", "idle", "dormant"}
    assert told["server"]["tools"] == 2


def test_a_login_that_is_refused_fails(shell, authority):
    authority.denies = True
    done = shell.log_in("--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["code"] == "needs_auth"
    assert "access_denied" in done.stderr


def test_no_secret_is_logged_or_printed(shell, authority):
    authority.lifetime = 0
    script_runs = [shell.log_in("--json"), shell.run("--debug", "servers", "one", "--refresh")]
    authority.revoke()
    authority.refusal = (400, "invalid_grant")
    script_runs.append(shell.run("--debug", "servers", "one", "--refresh"))
    assert "invalid_grant" in script_runs[-1].stdout
    assert len(authority.secret_values) >= 5
    shown = "".join(done.stdout + done.stderr for done in script_runs)
    assert [value for value in authority.secret_values if value in shown] == []


def test_a_login_that_is_forgotten_is_wanted_again(shell, tmp_path):
    shell.log_in()
    assert shell.run("servers", "logout", "one").stdout == "The login to one is forgotten.\n"
    assert not list((tmp_path / "state" / "auth").glob("*.json"))
    assert "needs_auth" in shell.run("servers", "one", "--refresh").stdout
    assert json.loads(shell.run("servers", "logout", "one", "--json").stdout) == {"server": "one", "existed": False}


@pytest.mark.parametrize(
    ("name", "why"), [("local", "knows no login"), ("two", "There is no server"), ("keyed", "Authorization header")]
)
def test_what_has_no_login_is_told(shell, name, why):
    done = shell.run("servers", "login", name)
    assert done.returncode == 2
    assert why in done.stderr
