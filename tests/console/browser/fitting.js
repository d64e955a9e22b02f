// What of a page can't be read as it is laid out: what reaches beyond the window, text that is cut, texts that lie upon
// each other. Answers a list of sentences.

() => {
  const problems = [];
  const root = document.scrollingElement;
  const width = document.documentElement.clientWidth;

  const named = (element) => {
    const words = (element.innerText ?? element.textContent ?? "").trim().replace(/\s+/g, " ").slice(0, 50);
    const kind = element.className?.baseVal ?? element.className ?? "";
    return `<${element.localName}${element.id ? `#${element.id}` : ""}${kind ? `.${kind}` : ""}> "${words}"`;
  };
  const hides = (style) => [style.overflowX, style.overflowY].some((each) => each === "hidden" || each === "clip");
  const scrolls = (style) => [style.overflowX, style.overflowY].some((each) => each === "auto" || each === "scroll");
  // Only what is there for screen readers alone: a box of a pixel, or moved out of the window.
  const spoken = new Map([[document.body, false]]);
  const isSpoken = (element) => {
    if (!spoken.has(element)) {
      const box = element.getBoundingClientRect();
      const is = box.width <= 1 || box.height <= 1 || box.right <= 0 || box.bottom + root.scrollTop <= 0;
      spoken.set(element, is || isSpoken(element.parentElement));
    }
    return spoken.get(element);
  };
  const floating = new Map([[null, false]]);
  const isFloating = (element) => {
    if (!floating.has(element)) {
      const is = ["fixed", "sticky"].includes(getComputedStyle(element).position);
      floating.set(element, is || isFloating(element.parentElement));
    }
    return floating.get(element);
  };
  // The ancestors that show no more of what is in them than fits, each with its box.
  const windows = new Map([[null, []], [root, []]]);
  const windowsOf = (element) => {
    if (!windows.has(element)) {
      const style = getComputedStyle(element);
      const outer = windowsOf(element.parentElement);
      windows.set(element, scrolls(style) || hides(style) ? [element.getBoundingClientRect(), ...outer] : outer);
    }
    return windows.get(element);
  };
  // What is seen of a box: not what a scrolling ancestor does not show.
  const seen = (box, element) => {
    let { left, right, top, bottom } = box;
    for (const bounds of windowsOf(element)) {
      left = Math.max(left, bounds.left);
      right = Math.min(right, bounds.right);
      top = Math.max(top, bounds.top);
      bottom = Math.min(bottom, bounds.bottom);
    }
    return right > left && bottom > top ? { left, right, top, bottom } : null;
  };

  if (root.scrollWidth > width) problems.push(`The page is ${root.scrollWidth} px wide in a window of ${width}.`);

  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const element = node.parentElement;
    if (!node.data.trim() || !element.checkVisibility({ visibilityProperty: true })) continue;
    if (["SCRIPT", "STYLE", "TITLE", "OPTION"].includes(element.tagName) || isSpoken(element)) continue;
    range.selectNodeContents(node);
    for (const rect of range.getClientRects()) {
      if (rect.width < 1 || rect.height < 1) continue;
      const box = seen(rect, element);
      if (box === null) continue;
      if (box.right > width + 1 || box.left < -1) {
        problems.push(`${named(element)} reaches from ${box.left | 0} to ${box.right | 0} in a window of ${width}.`);
      }
      texts.push({ ...box, element, node, floats: isFloating(element) });
    }
  }

  for (const element of document.body.querySelectorAll("*")) {
    const style = getComputedStyle(element);
    if (element.closest("svg") || !element.checkVisibility() || isSpoken(element)) continue;
    const box = element.getBoundingClientRect();
    if (["INPUT", "BUTTON", "SELECT", "TEXTAREA", "IMG", "SVG"].includes(element.tagName.toUpperCase())) {
      const part = seen(box, element);
      if (part && (part.right > width + 1 || part.left < -1)) {
        problems.push(`${named(element)} reaches from ${part.left | 0} to ${part.right | 0} in a window of ${width}.`);
      }
    }
    if (hides(style) && !scrolls(style)) {
      const over = [element.scrollWidth - element.clientWidth, element.scrollHeight - element.clientHeight];
      if (Math.max(...over) > 1 && !element.title) problems.push(`${named(element)} is cut by ${over} px.`);
    }
    if (element.localName === "button" && element.scrollWidth > element.clientWidth + 1) {
      problems.push(`${named(element)} is too narrow for its words.`);
    }
  }

  texts.sort((one, other) => one.top - other.top);
  for (let i = 0; i < texts.length; i += 1) {
    const one = texts[i];
    for (let j = i + 1; j < texts.length && texts[j].top < one.bottom - 3; j += 1) {
      const other = texts[j];
      if (one.node === other.node || one.floats !== other.floats) continue;
      const across = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const down = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
      // Lines of a line height below their letters' touch each other by a little.
      if (across > 2 && down > Math.min(one.bottom - one.top, other.bottom - other.top) * 0.4) {
        problems.push(`${named(one.element)} and ${named(other.element)} lie upon each other.`);
      }
    }
  }
  return [...new Set(problems)].slice(0, 20);
}
