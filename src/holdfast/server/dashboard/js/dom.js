// Builds DOM nodes. Text always becomes a text node: nothing in this dashboard parses HTML.

/** Create an element: h("a.link", {href, onclick, dataset, style}, children...). */
export function h(tag, props = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const node = document.createElement(name || "div");
  if (classes.length) node.classList.add(...classes);
  return fill(node, props, children);
}

/** Create an SVG element, with the namespace of the sprite in the page. */
export function s(tag, props = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const node = document.createElementNS(document.getElementById("sprite").namespaceURI, name);
  if (classes.length) node.classList.add(...classes);
  return fill(node, props, children);
}

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") node.classList.add(...String(value).split(" ").filter(Boolean));
    else if (name === "dataset") Object.assign(node.dataset, value);
    else if (name === "style") for (const [rule, set] of Object.entries(value)) node.style.setProperty(rule, set);
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (
      name === "value" ||
      name === "checked" ||
      name === "selected" ||
      name === "disabled" ||
      name === "indeterminate"
    )
      node[name] = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  append(node, children);
  return node;
}

function append(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === "") continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** Replace all children of a node. */
export function replace(node, ...children) {
  node.replaceChildren();
  append(node, children);
  return node;
}

/** An icon of the sprite. It is hidden from screen readers. */
export function icon(name, size = 18) {
  return s(
    "svg.icon",
    { width: size, height: size, "aria-hidden": "true", focusable: "false" },
    s("use", { href: `#i-${name}` }),
  );
}

let counter = 0;
/** A unique element id. */
export const freshId = (prefix = "x") => `${prefix}-${++counter}`;
