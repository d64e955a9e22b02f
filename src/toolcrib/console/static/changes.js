// Hears of changes. All pages of a browser share one connection, since it opens only six to one server; where it has
// no shared workers, each page has its own while it can be seen.

import { connect } from "./connection.js";

export function listen(base, on) {
  const hear = ({ kind, topics }) => {
    if (kind === "changed") on.changed(new Set(topics));
    else on[kind]();
  };
  if ("SharedWorker" in window) {
    const worker = new SharedWorker(`${base}static/worker.js`, { type: "module", name: base });
    worker.port.onmessage = (message) => hear(message.data);
    worker.port.start();
    worker.port.postMessage("hello");
    addEventListener("pagehide", () => worker.port.postMessage("bye"));
    addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
    return;
  }
  let close = null;
  const follow = () => {
    if (document.hidden) { close?.(); close = null; }
    else if (!close) { close = connect(`${base}live`, hear); }
  };
  document.addEventListener("visibilitychange", follow);
  follow();
}
