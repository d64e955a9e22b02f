// Keeps a page as it is now: what is marked `data-live` becomes what it is in the page fetched anew.

import { become } from "./becoming.js";
import { listen } from "./changes.js";

// How long a form that was sent is not sent again.
const SENT_MS = 10000;

const banner = document.getElementById("connection");
const root = document.body.dataset.root;
let fetching = false;
let wanted = new Set();
let pressed = null;
let behind = false;
let missed = false;
const sent = new WeakMap();

function say(text) {
  banner.textContent = text;
  banner.hidden = !text;
}

function sections(topics) {
  return [...document.querySelectorAll("[data-live][id]")].filter((each) =>
    topics === null || each.dataset.live.split(" ").some((topic) => topics.has(topic)));
}

// A part in which somebody writes, has text marked or presses a button stays until that is over.
function inUse(element) {
  const active = document.activeElement;
  const writing = element.contains(active) &&
    active.matches("input:not([type=hidden], [type=checkbox], [type=radio]), textarea, select");
  const selection = document.getSelection();
  return writing || element.contains(pressed) || (!selection.isCollapsed && selection.containsNode(element, true));
}

function replace(old, fresh) {
  const focused = document.activeElement;
  become(old, fresh);
  // What was moved has lost it.
  if (focused !== document.activeElement && focused.isConnected) focused.focus({ preventScroll: true });
}

// Forms that were sent may be of an earlier visit by now: somebody has signed in anew, in another tab.
function renew(page) {
  for (const part of [".visitor span", "input[name=csrf]"]) {
    const fresh = page.querySelector(part);
    for (const each of document.querySelectorAll(part)) {
      if (fresh) become(each, fresh.cloneNode(true));
    }
  }
}

async function refresh(topics) {
  if (topics === null || wanted === null) wanted = null;
  else for (const topic of topics) wanted.add(topic);
  if (fetching) return;
  fetching = true;
  try {
    while (wanted === null || wanted.size) {
      const now = wanted;
      wanted = new Set();
      const olds = sections(now);
      if (!olds.length && !missed) continue;
      const response = await fetch(location.href, { cache: "no-store" });
      if (response.status === 401) {
        say("You are signed out. Load the page anew to sign in.");
        return;
      }
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      missed = false;
      renew(page);
      for (const old of olds) {
        const fresh = page.getElementById(old.id);
        if (inUse(old)) behind = true;
        else if (fresh) replace(old, fresh);
      }
    }
  } catch {
    // The stream tells when the server is there again, and everything is fetched then.
    wanted = new Set();
  } finally {
    fetching = false;
  }
}

function catchUp() {
  if (!behind || sections(null).some(inUse)) return;
  behind = false;
  refresh(null);
}

// What a press does comes after the event that ends it, and so does the focus that one element hands to another.
const soon = (then) => () => setTimeout(then);
const release = soon(() => { pressed = null; catchUp(); });

for (const type of ["pointerdown", "keydown"]) {
  document.addEventListener(type, (event) => { pressed = event.target; });
}
for (const type of ["pointerup", "pointercancel", "keyup"]) document.addEventListener(type, release);
window.addEventListener("blur", release);
for (const type of ["focusout", "selectionchange"]) document.addEventListener(type, soon(catchUp));

// A form that is sent twice, as by a double click, is sent once.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.getAttribute("method") !== "post") return;
  if (performance.now() - sent.get(form) < SENT_MS) event.preventDefault();
  else sent.set(form, performance.now());
});

// What a form has led to is told once, and not again when the page is loaded anew.
const here = new URL(location.href);
if (here.searchParams.has("notice")) {
  for (const name of ["notice", "seal"]) here.searchParams.delete(name);
  history.replaceState(history.state, "", here);
}

listen(`${root}/`, {
  changed: (topics) => refresh(topics),
  lost: () => { missed = true; say("The server does not answer. This page goes on by itself when it does."); },
  back: () => { say(""); refresh(null); },
  out: () => { missed = true; say("You are signed out. Load the page anew to sign in."); },
});
