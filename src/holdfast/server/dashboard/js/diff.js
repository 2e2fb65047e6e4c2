// Word-by-word difference between two texts.

import { h } from "./dom.js";

const MOST = 1500;

const words = (text) => text.match(/\s+|[\p{L}\p{N}_'’-]+|[^\s]/gu) ?? [];

/** Return [sign, text] pieces: "=" kept, "-" removed, "+" added. */
export function compare(before, after) {
  const [a, b] = [words(before), words(after)];
  if (a.length > MOST || b.length > MOST)
    return before === after
      ? [["=", after]]
      : [
          ["-", before],
          ["+", after],
        ];
  const lengths = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      lengths[i][j] = a[i] === b[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
    }
  }
  const pieces = [];
  const add = (sign, text) => {
    const last = pieces.at(-1);
    if (last?.[0] === sign) last[1] += text;
    else pieces.push([sign, text]);
  };
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      add("=", a[i]);
      i += 1;
      j += 1;
    } else if (i < a.length && (j === b.length || lengths[i + 1][j] >= lengths[i][j + 1])) {
      add("-", a[i]);
      i += 1;
    } else {
      add("+", b[j]);
      j += 1;
    }
  }
  return pieces;
}

/** Show the difference with <ins> and <del>. */
export function diff(before, after) {
  const tags = { "=": "span", "-": "del", "+": "ins" };
  return h(
    "p.diff",
    {},
    compare(before, after).map(([sign, text]) => h(tags[sign], {}, text)),
  );
}
