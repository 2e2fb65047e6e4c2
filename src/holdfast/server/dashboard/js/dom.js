// Builds DOM nodes. Text always becomes a text node: nothing in this dashboard parses HTML.

/**
 * A child of an element. Lists are flattened; null, undefined, false and "" are left out.
 * @typedef {Node | string | number | boolean | null | undefined | readonly any[]} Child
 * @typedef {Record<string, any> | null} Props
 */

/**
 * Create an element: h("a.link", {href, onclick, dataset, style}, children...).
 * @template {string} T
 * @param {T} tag
 * @param {Props} [props]
 * @param {...Child} children
 * @returns {T extends keyof HTMLElementTagNameMap ? HTMLElementTagNameMap[T] : T extends `${infer N}.${string}` ? N extends keyof HTMLElementTagNameMap ? HTMLElementTagNameMap[N] : HTMLElement : HTMLElement}
 */
export function h(tag, props = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const node = document.createElement(name || "div");
  if (classes.length) node.classList.add(...classes);
  return /** @type {any} */ (fill(node, props, children));
}

/**
 * Create an SVG element, with the namespace of the sprite in the page.
 * @param {string} tag
 * @param {Props} [props]
 * @param {...Child} children
 * @returns {SVGElement}
 */
export function s(tag, props = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const sprite = /** @type {Element} */ (document.getElementById("sprite"));
  const node = /** @type {SVGElement} */ (document.createElementNS(sprite.namespaceURI, name));
  if (classes.length) node.classList.add(...classes);
  return fill(node, props, children);
}

/**
 * @template {HTMLElement | SVGElement} E
 * @param {E} node
 * @param {Props} props
 * @param {Child[]} children
 * @returns {E}
 */
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
      Object.assign(node, { [name]: value });
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  append(node, children);
  return node;
}

/**
 * @param {Node & ParentNode} node
 * @param {Child[]} children
 */
function append(node, children) {
  for (const child of /** @type {Exclude<Child, readonly any[]>[]} */ (children.flat(Infinity))) {
    if (child === null || child === undefined || child === false || child === "") continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/**
 * Replace all children of a node.
 * @template {Node & ParentNode} E
 * @param {E} node
 * @param {...Child} children
 * @returns {E}
 */
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
