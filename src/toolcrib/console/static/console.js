// Keeps a page as it is now: what is marked `data-live` is replaced by the same element of the page fetched anew.

import { listen } from "./changes.js";

const banner = document.getElementById("connection");
const root = document.body.dataset.root;
let fetching = false;
let wanted = new Set();
let pressed = null;
let behind = false;

function say(text) {
  banner.textContent = text;
  banner.hidden = !text;
}

function sections(topics) {
  return [...document.querySelectorAll("[data-live][id]")].filter((each) =>
    topics === null || each.dataset.live.split(" ").some((topic) => topics.has(topic)));
}

// A part in which somebody types, has text marked or presses a button stays until that is over.
function inUse(element) {
  const active = document.activeElement;
  const typing = element.contains(active) && active.matches("input:not([type=hidden]), textarea, select");
  const selection = document.getSelection();
  return typing || element.contains(pressed) || (!selection.isCollapsed && element.contains(selection.anchorNode));
}

// What somebody has chosen or written since the page came: it is theirs, and stays when what is around it changes.
function entries(element) {
  return [...element.querySelectorAll("input[id], textarea[id], select[id]")].flatMap((each) => {
    const [key, before] = each.matches("[type=checkbox], [type=radio]") ? ["checked", each.defaultChecked]
      : each.matches("select") ? ["value", [...each.options].find((option) => option.defaultSelected)?.value]
      : ["value", each.defaultValue];
    return each[key] === before ? [] : [[each.id, key, each[key]]];
  });
}

function replace(old, fresh) {
  if (old.outerHTML === fresh.outerHTML) return;
  const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
  const opened = new Set([...old.querySelectorAll("details[open][id]")].map((each) => each.id));
  for (const details of fresh.querySelectorAll("details[id]")) {
    if (opened.has(details.id)) details.open = true;
  }
  const entered = entries(old);
  old.replaceWith(fresh);
  for (const [id, key, value] of entered) {
    const field = document.getElementById(id);
    if (field) field[key] = value;
  }
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
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
      if (!olds.length) continue;
      const response = await fetch(location.href, { cache: "no-store" });
      if (response.status === 401) {
        say("You are signed out. Load the page anew to sign in.");
        return;
      }
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      for (const old of olds) {
        const fresh = page.getElementById(old.id);
        if (inUse(old)) behind = true;
        else if (fresh) replace(old, document.adoptNode(fresh));
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

listen(`${root}/`, {
  changed: (topics) => refresh(topics),
  lost: () => say("The server does not answer. This page goes on by itself when it does."),
  back: () => { say(""); refresh(null); },
  out: () => say("You are signed out. Load the page anew to sign in."),
});
