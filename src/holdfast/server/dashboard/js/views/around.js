// The people and places around a person: a small drawing, and the same as a list, which screen readers and keyboards use.

import { h, s } from "../dom.js";
import { t } from "../i18n.js";
import { memoryLink } from "../parts.js";

const WIDTH = 640;
const HEIGHT = 380;
const MIDDLE = { x: WIDTH / 2, y: HEIGHT / 2 };
const KINDS = ["person", "place", "other"];

/**
 * Positions on an ellipse around the middle, each kind in one arc. Names that are mentioned together stand next to each other.
 * @param {{name: string, kind: string}[]} names
 * @param {{between: [string, string], weight: number}[]} links
 */
export function layout(names, links) {
  const order = KINDS.flatMap((kind) =>
    byTies(
      names.filter((each) => each.kind === kind),
      links,
    ),
  );
  return new Map(
    order.map((each, index) => {
      const angle = (index / order.length) * 2 * Math.PI - Math.PI / 2;
      const far = index % 2 && order.length > 8 ? 0.74 : 1; // two rings, so that the labels of many names do not touch
      return [
        each.name,
        { x: MIDDLE.x + Math.cos(angle) * 235 * far, y: MIDDLE.y + Math.sin(angle) * 150 * far, kind: each.kind },
      ];
    }),
  );
}

/** Sort names so that each is followed by the name it is mentioned with most often. */
function byTies(names, links) {
  const tie = (a, b) =>
    links.find((each) => each.between.includes(a.name) && each.between.includes(b.name))?.weight ?? 0;
  const rest = [...names];
  const sorted = rest.splice(0, 1);
  while (rest.length) {
    const last = sorted[sorted.length - 1];
    const next = rest.reduce((best, each) => (tie(last, each) > tie(last, best) ? each : best), rest[0]);
    sorted.push(...rest.splice(rest.indexOf(next), 1));
  }
  return sorted;
}

/** The drawing and the list. Choosing a name shows the memories that mention it. */
export function around(user, { names, links }) {
  const places = layout(names, links);
  const list = h(
    "div.around-list",
    {},
    KINDS.map((kind) => group(kind, names)),
  );
  const drawing = draw(user, names, links, places);
  const choose = (name) => {
    for (const node of drawing.querySelectorAll("[data-name]"))
      node.classList.toggle("is-chosen", /** @type {SVGElement} */ (node).dataset.name === name);
    for (const node of list.querySelectorAll("details")) {
      const chosen = node.dataset.name === name;
      if (chosen !== node.open) node.open = chosen;
    }
  };
  drawing.addEventListener("click", (event) => {
    const found = /** @type {Element} */ (event.target).closest("[data-name]");
    if (found) choose(/** @type {SVGElement} */ (found).dataset.name);
  });
  for (const node of list.querySelectorAll("details"))
    node.addEventListener("toggle", () => node.open && choose(node.dataset.name));
  return h("div.around", {}, drawing, list);
}

/** Where the label of a name stands: on the side of its circle that faces away from the middle, where no line to the user is. */
export function labelAt({ x, y }, size) {
  const isAbove = y < MIDDLE.y - 1;
  return { x: x.toFixed(1), y: (isAbove ? y - size - 7 : y + size + 15).toFixed(1) };
}

/** A line between two names. It bends towards the middle, away from the labels. */
function bent(from, to) {
  const by = (axis) => ((from[axis] + to[axis]) / 2 + MIDDLE[axis]) / 2;
  return `M${spot(from)}Q${spot({ x: by("x"), y: by("y") })} ${spot(to)}`;
}

const spot = ({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`;

function draw(user, names, links, places) {
  const middle = MIDDLE;
  const strongest = Math.max(1, ...links.map((each) => each.weight));
  const most = Math.max(5, ...names.map((each) => each.count));
  return s(
    "svg.around-drawing",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" },
    names.map((each) => s("path.tie.to-user", { d: `M${spot(middle)}L${spot(places.get(each.name))}` })),
    links.map((each) =>
      s("path.tie", {
        d: bent(places.get(each.between[0]), places.get(each.between[1])),
        "stroke-width": (1 + 3 * (each.weight / Math.max(strongest, 3)) ** 2).toFixed(1),
      }),
    ),
    s("circle.node.is-user", { cx: middle.x, cy: middle.y, r: 34 }),
    s("text", { x: middle.x, y: middle.y + 5, "text-anchor": "middle", class: "of-user" }, short(firstName(user), 8)),
    names.map((each) => {
      const { x, y } = places.get(each.name);
      const size = Number((8 + 10 * (each.count / most)).toFixed(1));
      return s(
        "g",
        { "data-name": each.name, class: `is-${each.kind}` },
        s("circle.node", { cx: x.toFixed(1), cy: y.toFixed(1), r: size }),
        s("text", { ...labelAt({ x, y }, size), "text-anchor": "middle" }, short(each.name, 16)),
      );
    }),
  );
}

/** The part of a name that fits into the circle. */
const firstName = (user) => user.split(/[\s(@]+/)[0] || user;

const short = (text, max) => ([...text].length > max ? `${[...text].slice(0, max - 1).join("")}…` : text);

function group(kind, names) {
  const some = names.filter((each) => each.kind === kind);
  if (!some.length) return null;
  return h(
    "section",
    {},
    h("h3", { class: `is-${kind}` }, t(`around.${kind}`)),
    some.map((each) =>
      h(
        "details",
        { dataset: { name: each.name } },
        h(
          "summary",
          {},
          h("b", { dir: "auto" }, each.name),
          " ",
          h("span.quiet", {}, t("around.count", { n: each.count })),
        ),
        h(
          "ul",
          {},
          each.memories.map((memory) => h("li", {}, h("a", { href: memoryLink(memory.id), dir: "auto" }, memory.text))),
        ),
      ),
    ),
  );
}
