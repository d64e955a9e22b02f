// Keeps a page as it is now: what is marked `data-live` is replaced by the same element of the page fetched anew.

import { listen } from "./changes.js";

const banner = document.getElementById("connection");
const root = document.body.dataset.root;
let fetching = false;
let wanted = new Set();

function say(text) {
  banner.textContent = text;
  banner.hidden = !text;
}

function sections(topics) {
  return [...document.querySelectorAll("[data-live][id]")].filter((each) =>
    topics === null || each.dataset.live.split(" ").some((topic) => topics.has(topic)));
}

// Whoever types in a part, or has text of it marked, keeps it until the next change.
function inUse(element) {
  const active = document.activeElement;
  const typing = element.contains(active) && active.matches("input:not([type=hidden]), textarea, select");
  const selection = document.getSelection();
  return typing || (!selection.isCollapsed && element.contains(selection.anchorNode));
}

function replace(old, fresh) {
  if (inUse(old) || old.outerHTML === fresh.outerHTML) return;
  const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
  const opened = new Set([...old.querySelectorAll("details[open][id]")].map((each) => each.id));
  for (const details of fresh.querySelectorAll("details[id]")) {
    if (opened.has(details.id)) details.open = true;
  }
  old.replaceWith(fresh);
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

async function refresh(topics) {
  if (topics !== null) for (const topic of topics) wanted.add(topic);
  else wanted = null;
  if (fetching) return;
  fetching = true;
  try {
    while (wanted === null || wanted.size) {
      const now = wanted;
      wanted = new Set();
      const olds = sections(now);
      if (!olds.length) continue;
      const response = await fetch(location.href, { cache: "no-store" });
      if (response.status === 401) {
        say("You are signed out. Load the page anew to sign in.");
        return;
      }
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      for (const old of olds) {
        const fresh = page.getElementById(old.id);
        if (fresh) replace(old, document.adoptNode(fresh));
      }
    }
  } catch {
    // The stream tells when the server is there again, and everything is fetched then.
    wanted = new Set();
  } finally {
    fetching = false;
  }
}

listen(`${root}/`, {
  changed: (topics) => refresh(topics),
  lost: () => say("The server does not answer. This page goes on by itself when it does."),
  back: () => { say(""); refresh(null); },
  out: () => say("You are signed out. Load the page anew to sign in."),
});
