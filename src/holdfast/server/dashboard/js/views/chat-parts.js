// Parts of the chat view that do not change its state.

import { get, part } from "../api.js";
import { h, icon } from "../dom.js";
import { t } from "../i18n.js";
import { contextPanel, memoryLink, nextChatNote, told } from "../parts.js";
import { latest } from "../samples.js";
import { scope } from "../settings.js";
import { pickScope } from "../shell.js";
import { kindChip, link, skeleton } from "../ui.js";

/** All messages of a session. */
export async function allMessages(id) {
  const found = [];
  for (let after = 0; after !== null;) {
    const page = await get(`/v1/sessions/${part(id)}/messages`, { limit: 500, after_seq: String(after) });
    found.push(...page.items);
    after = page.next_seq ?? null;
  }
  return found;
}

/** Whose memory the chat uses: a button that opens the scope dialog. Without a user, what is said is shared. */
export function whoseMemory() {
  const parts = Object.values(scope());
  const isShared = !scope().user;
  return h(
    "button.whose",
    { type: "button", onclick: pickScope, class: isShared ? "is-shared" : "", dataset: { action: "whose" } },
    icon(isShared ? "warn" : "person", 16),
    h("span", {}, parts.length ? t("chat.whose", { name: parts.join(" · ") }) : t("chat.whoseShared")),
  );
}

const TRIES = ["1", "2", "3"];

/** Suggested messages that were not said yet. The last one is a question, which is asked in a new session. */
export function suggestions(used, send) {
  const label = (n) =>
    n === "3" && used.length ? t("chat.tryNew", { question: t(`chat.try.${n}`) }) : t(`chat.try.${n}`);
  return h(
    "div.tries",
    {},
    TRIES.filter((n) => !used.includes(n)).map((n) =>
      h("button.try", { type: "button", onclick: () => send(n), dataset: { try: n } }, label(n)),
    ),
  );
}

export function welcome(send) {
  return h(
    "div.welcome",
    {},
    h("div.welcome-mark", {}, icon("logo", 44)),
    h("h2", {}, t("chat.welcome.title")),
    h("p", {}, t("chat.welcome.body")),
    h("p", {}, scope().user ? t("chat.welcome.whose", { name: scope().user }) : t("chat.welcome.shared")),
    suggestions([], send),
    h("a", { href: "#/start" }, t("chat.welcome.start")),
    latest && !latest.chat && h("p.quiet", {}, t("chat.welcome.noModel")),
  );
}

/** The note on a message without a reply: how to set a model (first time only), and the context block. */
export function noModel(turn, first) {
  return h(
    "div.no-model",
    {},
    h("p", {}, h("strong", {}, t("noModel.kept")), " ", first && t("noModel.body")),
    first && nextChatNote(),
    first && link(t("noModel.choose"), "#/admin/models", { name: "spark", class: "small" }),
    h(
      "details",
      { open: first && matchMedia("(min-width: 721px)").matches },
      h("summary", {}, t("noModel.would")),
      turn.context?.text ? told(turn.context) : h("p.quiet", {}, t("noModel.nothing")),
    ),
  );
}

/** The panel next to the chat: memories learned, and hits for the selected message. */
export function asideParts(talk) {
  const turn = talk.chosen;
  return [
    h("h2", {}, t("chat.learnt")),
    talk.learnt.length
      ? h(
          "div.learnt",
          { "aria-live": "polite" },
          talk.learnt.map((memory) =>
            h(
              "a.learnt-row",
              { href: memoryLink(memory.id), class: memory.isNew ? "is-new" : "" },
              h("span.memory-text", {}, memory.text),
              kindChip(memory.kind),
            ),
          ),
        )
      : h("p.quiet", {}, t(talk.status === "ended" ? "chat.learnt.waiting" : "chat.learnt.none")),
    latest?.queue?.dead > 0 &&
      h(
        "p.gave-up",
        {},
        icon("warn", 16),
        h("a", { href: "#/jobs?state=dead" }, t("stats.dead", { n: latest.queue.dead })),
      ),
    h("h2", {}, t("chat.recall")),
    turn
      ? [h("blockquote.asked", { dir: "auto" }, turn.text), turn.context ? contextPanel(turn.context) : skeleton(3)]
      : h("p.quiet", {}, t("chat.recall.none")),
  ];
}

/** The id of the last message of a session, or undefined if it cannot be fetched. */
export async function lastId(session) {
  try {
    return (await allMessages(session)).at(-1)?.id;
  } catch {
    return undefined;
  }
}

/** Links to the memories learned from a message. */
export function learnedChips(turn) {
  if (!turn.learnt?.length) return null;
  return h(
    "div.learnt-here",
    {},
    turn.learnt.map((memory) =>
      h(
        "a.learnt-chip",
        { href: memoryLink(memory.id), title: memory.text },
        icon("spark", 14),
        h("span", {}, memory.text),
      ),
    ),
  );
}
