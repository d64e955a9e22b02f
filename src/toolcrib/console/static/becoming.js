// Makes an element what the same element of a page fetched anew is, and leaves alone what stays the same in it: the
// focus, how far something is scrolled, what is marked, and what somebody has written, chosen or opened.

// What an element is known by among its siblings: a name, or what it does, since nothing may become a button or link
// that does something else while somebody is about to press it.
function keyOf(node) {
  if (node.nodeType !== Node.ELEMENT_NODE) return "";
  const name = ["id", "action", "href", "aria-label"].map((each) => node.getAttribute(each)).find(Boolean);
  return name ? `${node.localName} ${name}` : "";
}

export function become(old, fresh) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
  } else if (!old.isEqualNode(fresh)) {
    takeAttributes(old, fresh);
    takeChildren(old, fresh);
  }
}

function takeAttributes(old, fresh) {
  // Whether details are open is up to whoever looks at them.
  const isOwn = (name) => name === "open" && old.localName === "details";
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !isOwn(name)) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value && !isOwn(name)) old.setAttribute(name, value);
  }
}

function takeChildren(old, fresh) {
  const wanted = [...fresh.childNodes];
  const named = new Set(wanted.map(keyOf));
  const known = new Map();
  for (const node of [...old.childNodes]) {
    const key = keyOf(node);
    if (key && named.has(key) && !known.has(key)) known.set(key, node);
    else if (key) node.remove();
  }
  const comesLater = (node, index) =>
    wanted.some((each, place) => place > index && !keyOf(each) && each.nodeName === node.nodeName);
  let at = old.firstChild;
  for (const [index, next] of wanted.entries()) {
    const key = keyOf(next);
    let found = known.get(key);
    known.delete(key);
    if (!key) {
      while (at && !keyOf(at) && at.nodeName !== next.nodeName && !comesLater(at, index)) {
        const gone = at;
        at = at.nextSibling;
        gone.remove();
      }
      if (at && !keyOf(at) && at.nodeName === next.nodeName) found = at;
    }
    if (found && found === at) at = at.nextSibling;
    else old.insertBefore(found ?? next, at);
    if (found) become(found, next);
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}
