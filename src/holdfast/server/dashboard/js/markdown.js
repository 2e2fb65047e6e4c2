// A small Markdown reader that builds DOM nodes. It knows headings, lists, quotes, code, rules, emphasis and links;
// everything else, including HTML, stays plain text. Links may be http, https or mailto. Images are shown as links
// and not loaded.

import { h } from "./dom.js";

const LONGEST = 100000;
const DEEPEST = 12;

/** Render Markdown as a node. */
export function markdown(text) {
  return h(
    "div.prose",
    {},
    blocks(
      String(text ?? "")
        .slice(0, LONGEST)
        .replaceAll("\r\n", "\n")
        .split("\n"),
      0,
    ),
  );
}

const FENCE = /^ {0,3}(```+|~~~+)/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/;
const RULE = /^ {0,3}([-*_])( *\1){2,}\s*$/;
const ITEM = /^( {0,8})([-*+]|\d{1,9}[.)])\s+(.*)$/;
const QUOTE = /^ {0,3}> ?(.*)$/;

/** The index of the line that closes a code block, or the number of lines. */
function fenceEnd(lines, from, fence) {
  let place = from;
  while (place < lines.length && !lines[place].trimStart().startsWith(fence)) place += 1;
  return place;
}

function blocks(lines, depth) {
  const made = [];
  let place = 0;
  while (place < lines.length) {
    const line = lines[place];
    let found;
    if (!line.trim()) {
      place += 1;
      continue;
    }
    if ((found = FENCE.exec(line))) {
      const end = fenceEnd(lines, place + 1, found[1]);
      made.push(h("pre", {}, h("code", {}, lines.slice(place + 1, end).join("\n"))));
      place = end + 1;
    } else if ((found = HEADING.exec(line))) {
      made.push(h(`h${Math.min(found[1].length + 1, 6)}`, {}, inline(found[2], 0)));
      place += 1;
    } else if (RULE.test(line)) {
      made.push(h("hr"));
      place += 1;
    } else if (QUOTE.test(line) && depth < DEEPEST) {
      const inner = [];
      while (place < lines.length && (found = QUOTE.exec(lines[place]))) {
        inner.push(found[1]);
        place += 1;
      }
      made.push(h("blockquote", {}, blocks(inner, depth + 1)));
    } else if (ITEM.test(line) && depth < DEEPEST) {
      const [node, next] = list(lines, place, depth);
      made.push(node);
      place = next;
    } else {
      const from = place;
      do place += 1;
      while (place < lines.length && lines[place].trim() && !starts(lines[place], depth));
      made.push(h("p", {}, inline(lines.slice(from, place).join("\n"), 0)));
    }
  }
  return made;
}

const starts = (line, depth) =>
  FENCE.test(line) ||
  HEADING.test(line) ||
  RULE.test(line) ||
  (depth < DEEPEST && (QUOTE.test(line) || ITEM.test(line)));

/**
 * @param {string[]} lines
 * @returns {[HTMLElement, number]} the list, and the line after it
 */
function list(lines, start, depth) {
  const [, indent, mark] = /** @type {RegExpExecArray} */ (ITEM.exec(lines[start]));
  const ordered = /\d/.test(mark);
  const node = h(ordered ? "ol" : "ul");
  let place = start;
  while (place < lines.length) {
    const found = ITEM.exec(lines[place]);
    if (!found || found[1].length !== indent.length || /\d/.test(found[2]) !== ordered) break;
    const inner = [];
    place += 1;
    while (place < lines.length && /^\s+\S/.test(lines[place]) && lines[place].search(/\S/) > indent.length) {
      inner.push(lines[place].slice(Math.min(lines[place].search(/\S/), indent.length + 2)));
      place += 1;
    }
    node.append(h("li", {}, inline(found[3], 0), blocks(inner, depth + 1)));
  }
  return [node, Math.max(place, start + 1)];
}

// Every repetition has an upper bound, so that hostile input cannot cause excessive backtracking. The patterns form one
// expression: \6 and \8 refer to groups of the whole.
const INLINE = new RegExp(
  [
    /(`{1,8})([^`]|[^`][^]{0,800}?[^`])\1(?!`)/, // code
    /(!?)\[([^\[\]]{0,300})\]\(\s{0,9}<?([^\s()<>]{0,800})>?(?:\s{1,9}"[^"]{0,200}")?\s{0,9}\)/, // link or image
    String.raw`(\*\*|__)(?=\S)([^]{0,800}?\S)\6`, // bold
    String.raw`(\*|_)(?=\S)([^*_]{0,800}?\S)\8(?!\w)`, // italic
    /~~(?=\S)([^~]{0,800}?\S)~~/, // strikethrough
    /(https?:\/\/[^\s<>"'`)\]]{1,800})/, // bare link
  ]
    .map((pattern) => (typeof pattern === "string" ? pattern : pattern.source))
    .join("|"),
);

function inline(text, depth) {
  const made = [];
  let rest = text;
  while (rest && depth < DEEPEST) {
    const found = INLINE.exec(rest);
    if (!found) break;
    if (found.index) made.push(rest.slice(0, found.index));
    made.push(span(found, depth));
    rest = rest.slice(found.index + found[0].length);
  }
  if (rest) made.push(rest);
  return made;
}

function span(found, depth) {
  if (found[1]) return h("code", {}, found[2].trim() || found[2]);
  if (found[5] !== undefined) return anchor(found[5], found[4] || found[5], depth, found[0]);
  if (found[6]) return h("strong", {}, inline(found[7], depth + 1));
  if (found[8]) return h("em", {}, inline(found[9], depth + 1));
  if (found[10]) return h("s", {}, inline(found[10], depth + 1));
  return anchor(found[11], found[11], DEEPEST, found[11]);
}

/** Return the address if it is http, https or mailto. Other links stay text. */
export function safeAddress(address) {
  if (!/^(https?:\/\/|mailto:)/i.test(address)) return null;
  try {
    const parsed = new URL(address);
    return ["http:", "https:", "mailto:"].includes(parsed.protocol) ? parsed.href : null;
  } catch {
    return null;
  }
}

function anchor(address, label, depth, written) {
  const safe = safeAddress(address);
  if (!safe) return document.createTextNode(written);
  return h("a", { href: safe, target: "_blank", rel: "noopener noreferrer nofollow" }, inline(label, depth + 1));
}
