// One connection to the stream of changes, opened again whenever it breaks. Whenever it is open anew, something may have
// changed meanwhile, since the page was made too.

const LONGEST_PAUSE = 15000;

export function connect(url, hear) {
  let source = null;
  let timer = null;
  let pause = 500;
  let closed = false;

  function open() {
    source = new EventSource(url);
    source.addEventListener("hello", () => {
      pause = 500;
      hear({ kind: "back" });
    });
    source.addEventListener("changed", (event) => hear({ kind: "changed", topics: event.data.split(" ") }));
    source.onerror = failed;
  }

  async function failed() {
    source.close();
    const status = await fetch(url.replace(/live$/, "ping"), { cache: "no-store" })
      .then((response) => response.status, () => 0);
    if (closed) return;
    hear({ kind: status === 401 ? "out" : "lost" });
    timer = setTimeout(open, pause);
    pause = Math.min(pause * 2, LONGEST_PAUSE);
  }

  open();
  return () => { closed = true; clearTimeout(timer); source.close(); };
}
