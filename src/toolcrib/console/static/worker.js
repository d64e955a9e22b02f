// Shares one connection among all pages of the console in a browser.

import { connect } from "./connection.js";

const ports = new Set();
let close = null;
let last = null;

function hear(message) {
  last = message.kind === "changed" ? last : message;
  for (const port of ports) port.postMessage(message);
}

self.onconnect = (event) => {
  const port = event.ports[0];
  port.onmessage = (message) => {
    if (message.data === "hello") {
      ports.add(port);
      if (last) port.postMessage(last);
      close ??= connect(new URL("../live", self.location.href).href, hear);
    } else {
      ports.delete(port);
      if (!ports.size) { close?.(); close = null; last = null; }
    }
  };
  port.start();
};
