// Chat: the conversation, next to the hits for each message and the memories learned.

import { Problem, events, get, getHere, part, post, postHere, randomId } from "../api.js";
import { dialog } from "../dialogs.js";
import { h, icon, replace } from "../dom.js";
import { clock, named, t } from "../i18n.js";
import { live } from "../live.js";
import { markdown } from "../markdown.js";
import { latest, record } from "../samples.js";
import { scope } from "../settings.js";
import { attempt, button, failed, link, problem, skeleton, toast } from "../ui.js";
import {
  allMessages,
  asideParts,
  lastId,
  learnedChips,
  noModel,
  suggestions,
  welcome,
  whoseMemory,
} from "./chat-parts.js";
import { traceChip, tracesOf } from "./trace-links.js";

const NEWEST = 40; // memories that are compared to find what is new

// The conversation is kept when the view changes, so that people can look at a memory and come back.
/** @type {any} */
let talk = null;
const place = () => `holdfast.chat.${JSON.stringify(scope())}`;

function fresh() {
  return {
    place: place(),
    id: null,
    status: "open",
    turns: [],
    chosen: null,
    learnt: [],
    known: null,
    since: undefined,
    draft: "",
    used: [],
    busy: false,
  };
}

async function resume() {
  if (talk?.place === place()) return;
  talk = fresh();
  const id = sessionStorage.getItem(place());
  if (!id) return;
  try {
    const [session, messages, traces] = await Promise.all([
      get(`/v1/sessions/${part(id)}`),
      allMessages(id),
      tracesOf(id),
    ]);
    talk.id = id;
    talk.status = session.status;
    talk.turns = messages.map((message) => ({
      id: message.id,
      role: message.role,
      speaker: message.speaker,
      text: message.text,
      at: message.at,
      trace: traces.get(message.id),
    }));
  } catch (error) {
    sessionStorage.removeItem(place());
    if (error.status !== 404) throw error;
  }
}

export function view(route, signal) {
  const box = {
    turns: h("div.turns", { role: "log", "aria-label": t("chat.log") }),
    aside: h("section.aside", { "aria-label": t("chat.aside") }),
    bar: h("div.chat-bar"),
    form: h("form.composer"),
  };
  const node = h(
    "div.chat",
    {},
    h("section.talk", {}, h("h1.visually-hidden", {}, t("nav.chat")), box.bar, box.turns, box.form),
    box.aside,
  );
  const ui = { box, signal, node };
  replace(box.turns, skeleton(3, "turn"));
  start(ui);
  live.addEventListener("change", () => learn(ui), { signal });
  return { node };
}

async function start(ui) {
  try {
    await resume();
  } catch (error) {
    if (!ui.signal.aborted)
      replace(
        ui.box.turns,
        problem(error, () => {
          talk = null;
          start(ui);
        }),
      );
    return;
  }
  if (ui.signal.aborted) return;
  compose(ui);
  drawAll(ui);
  await Promise.all([nameModel(ui), learn(ui)]);
}

/** Show the name of the chat model, or that there is none. The statistics have it. */
async function nameModel(ui) {
  const before = latest;
  if ((await record()) === before || ui.signal.aborted) return;
  bar(ui);
  const note = ui.box.turns.querySelector(".welcome");
  if (note) note.replaceWith(welcome((n) => suggest(ui, n)));
}

function drawAll(ui) {
  bar(ui);
  const send = (n) => suggest(ui, n);
  const { used } = talk;
  replace(
    ui.box.turns,
    talk.turns.length ? talk.turns.map((turn) => drawTurn(ui, turn)) : welcome(send),
    talk.turns.length > 0 && used.length > 0 && used.length < 3 && !talk.busy && suggestions(used, send),
    talk.status === "ended" && ended(ui),
  );
  aside(ui);
  toEnd(ui);
}

function toEnd(ui) {
  requestAnimationFrame(() => {
    ui.box.turns.scrollTop = ui.box.turns.scrollHeight;
  });
}

function bar(ui) {
  const model = latest?.chat ? String(latest.chat.name ?? latest.chat) : null;
  replace(
    ui.box.bar,
    h(
      "div.chat-facts",
      {},
      h(
        "span.model",
        { class: model ? "" : "none" },
        latest && [icon("spark", 16), h("span", {}, model ?? t("chat.noModel"))],
      ),
      whoseMemory(),
    ),
    h(
      "div.actions",
      {},
      h(
        "button.button.quiet.show-aside",
        { type: "button", onclick: () => showAside() },
        icon("memories"),
        h("span", {}, t("chat.showAside")),
      ),
      talk.id &&
        talk.status !== "ended" &&
        talk.turns.length > 0 &&
        button(t("chat.end"), (event) => end(ui, event.currentTarget), {
          kind: "quiet",
          name: "check",
          dataset: { action: "end" },
        }),
      talk.turns.length > 0 &&
        button(t("chat.new"), () => begin(ui), { kind: "quiet", name: "plus", dataset: { action: "new" } }),
    ),
  );
}

function ended(ui) {
  return h(
    "div.ended",
    {},
    h("p", {}, t("chat.ended")),
    h(
      "div.actions",
      {},
      button(t("chat.new"), () => begin(ui), { kind: "primary", name: "plus" }),
      talk.id && link(t("chat.see"), `#/sessions/${part(talk.id)}`, { name: "sessions" }),
    ),
  );
}

function begin(ui) {
  sessionStorage.removeItem(place());
  const { known, since } = talk;
  talk = { ...fresh(), known, since };
  drawAll(ui);
  ui.input.focus();
}

async function end(ui, control) {
  const session = await attempt(control, () => post(`/v1/sessions/${part(talk.id)}/end`));
  if (!session) return;
  talk.status = "ended";
  drawAll(ui);
  toast(t("chat.endedToast"));
}

function drawTurn(ui, turn) {
  const mine = turn.role === "user";
  const body =
    mine || turn.pending
      ? h("div.said", { dir: "auto" }, turn.text)
      : h("div.said", { dir: "auto" }, markdown(turn.text));
  const node = h(
    "article.turn",
    {
      class: `${mine ? "mine" : "theirs"}${turn.pending ? " pending" : ""}`,
      dataset: { turn: talk.turns.indexOf(turn) },
    },
    h(
      "header",
      {},
      h("span", {}, turn.speaker || named("role", turn.role)),
      turn.at && h("time", { datetime: turn.at }, clock(turn.at)),
    ),
    body,
    turn.waiting && h("div.thinking", { role: "status", "aria-label": t("chat.thinking") }, h("i"), h("i"), h("i")),
    turn.noModel && noModel(turn, talk.turns.find((each) => each.noModel) === turn),
    turn.problem && problem(turn.problem, () => again(ui, turn)),
    mine && turnFoot(ui, turn),
  );
  turn.node = node;
  return node;
}

function turnFoot(ui, turn) {
  const count = turn.context?.hits?.length;
  const chosen = talk.chosen === turn;
  return h(
    "footer",
    {},
    h(
      "button.recalled",
      {
        type: "button",
        "aria-pressed": String(chosen),
        onclick: () => choose(ui, turn),
        dataset: { action: "recalled" },
      },
      icon("memories", 15),
      turn.context ? t("chat.recalled", { n: count }) : t("chat.wouldRecall"),
    ),
    traceChip(turn.context?.trace ?? turn.trace),
    learnedChips(turn),
  );
}

/** Show the hits for a message next to the chat. Request them if they are not known. */
async function choose(ui, turn) {
  talk.chosen = turn;
  refresh(ui);
  if (!turn.context) {
    try {
      turn.context = await post(`/v1/sessions/${part(talk.id)}/context`, { query: turn.text });
    } catch (error) {
      failed(error);
      return;
    }
    if (ui.signal.aborted) return;
    refresh(ui);
  }
  if (getComputedStyle(ui.box.aside).display === "none") showAside();
}

function refresh(ui) {
  for (const turn of talk.turns) {
    const old = turn.node;
    if (old?.isConnected && turn.role === "user") old.replaceWith(drawTurn(ui, turn));
  }
  aside(ui);
}

function aside(ui) {
  replace(ui.box.aside, asideParts(talk));
}

function showAside() {
  dialog(t("chat.aside"), () => h("div.aside.inside", {}, asideParts(talk)), { class: "sheet tall" });
}

function compose(ui) {
  const input = h("textarea", {
    rows: "1",
    placeholder: t("chat.placeholder"),
    "aria-label": t("chat.placeholder"),
    "data-search": true,
    value: talk.draft,
    enterkeyhint: "send",
  });
  const grow = () => {
    input.style.setProperty("height", "auto");
    input.style.setProperty("height", `${Math.min(input.scrollHeight, 200)}px`);
    talk.draft = input.value;
  };
  input.addEventListener("input", grow);
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      ui.box.form.requestSubmit();
    }
    if (event.key === "Escape") input.blur();
  });
  ui.input = input;
  ui.box.form.onsubmit = (event) => {
    event.preventDefault();
    const text = input.value.trim();
    if (text && !talk.busy) {
      input.value = "";
      grow();
      say(ui, text);
    }
  };
  replace(
    ui.box.form,
    input,
    h("button.send", { type: "submit", "aria-label": t("chat.send"), title: t("chat.send") }, icon("send", 20)),
  );
  requestAnimationFrame(grow);
}

/** Send a suggested message. The question goes to a new session, because a session does not recall its own messages. */
async function suggest(ui, n) {
  if (talk.busy) return;
  const used = [...talk.used, n];
  if (n === "3" && talk.turns.length) {
    await attempt(null, () => post(`/v1/sessions/${part(talk.id)}/end`));
    begin(ui);
  }
  talk.used = used;
  await say(ui, t(`chat.try.${n}`));
}

async function say(ui, text) {
  // The client id makes a retry store the message once.
  const turn = { role: "user", text, at: new Date().toISOString(), clientId: randomId() };
  talk.turns.push(turn);
  talk.chosen = turn;
  talk.busy = true;
  drawAll(ui);
  await answer(ui, turn);
}

async function again(ui, turn) {
  const asked = talk.turns[talk.turns.indexOf(turn) - 1] ?? turn;
  talk.turns = talk.turns.filter((each) => each !== turn);
  asked.problem = null;
  drawAll(ui);
  await answer(ui, asked);
}

/** Send a message and show the reply as it is streamed. */
async function answer(ui, asked) {
  const mine = talk;
  const reply = { role: "assistant", text: "", pending: true, waiting: true };
  mine.busy = true;
  mine.turns.push(reply);
  ui.box.turns.append(drawTurn(ui, reply));
  toEnd(ui);
  try {
    if (!mine.id) {
      mine.id = (await postHere("/v1/sessions", {})).id;
      sessionStorage.setItem(mine.place, mine.id);
    }
    mine.status = "open";
    for await (const { event, data } of events("POST", `/v1/sessions/${part(mine.id)}/chat`, {
      body: { text: asked.text, id: asked.clientId, stream: true },
    })) {
      if (event === "piece") piece(ui, reply, data.text);
      if (event === "error") throw new Problem(data.status ?? 500, data);
      if (event === "answer") {
        Object.assign(reply, { text: data.text, id: data.reply_id, usage: data.usage, at: new Date().toISOString() });
        Object.assign(asked, { id: data.message_id, context: data.context });
      }
    }
  } catch (error) {
    if (error.name === "AbortError") return;
    if (!error.code) console.error(error);
    if (error.code === "no_chat_model") {
      Object.assign(asked, { noModel: true, context: error.body.context, id: error.body.message_id });
      mine.turns = mine.turns.filter((turn) => turn !== reply);
      if (!asked.id) asked.id = await lastId(mine.id);
    } else reply.problem = error;
  } finally {
    Object.assign(reply, { pending: false, waiting: false });
    mine.busy = false;
  }
  if (ui.signal.aborted || talk !== mine) return;
  drawAll(ui);
  await learn(ui);
}

function piece(ui, reply, text) {
  reply.text += text;
  reply.waiting = false;
  const said = reply.node?.querySelector(".said");
  if (!said) return;
  reply.node.querySelector(".thinking")?.remove();
  const near = ui.box.turns.scrollHeight - ui.box.turns.scrollTop - ui.box.turns.clientHeight < 120;
  said.textContent = reply.text;
  if (near) toEnd(ui);
}

/** Find the memories that are new since the chat was opened, and add each to the message it came from. */
async function learn(ui) {
  const mine = talk;
  if (!mine) return;
  let items;
  try {
    ({ items } = await getHere("/v1/memories", { limit: NEWEST }, ui.signal));
  } catch {
    return;
  }
  if (ui.signal.aborted || talk !== mine) return;
  const before = mine.known;
  mine.since ??= items.reduce((last, memory) => (memory.updated_at > last ? memory.updated_at : last), "");
  mine.known = new Map(items.map((memory) => [memory.id, memory.revision]));
  const said = new Map(mine.turns.filter((turn) => turn.id).map((turn) => [turn.id, turn]));
  const found = items.filter(
    (memory) =>
      (before ? before.get(memory.id) !== memory.revision && memory.updated_at > mine.since : false) ||
      (memory.sources ?? []).some((source) => said.has(source)),
  );
  const fresh_ = found.filter(
    (memory) => !mine.learnt.some((each) => each.id === memory.id && each.revision === memory.revision),
  );
  const gone = mine.learnt.filter((memory) => !mine.known.has(memory.id));
  if (!fresh_.length && !gone.length) return;
  const ids = new Set([...fresh_, ...gone].map((memory) => memory.id));
  mine.learnt = [
    ...fresh_.map((memory) => ({ ...memory, isNew: true })),
    ...mine.learnt.filter((memory) => !ids.has(memory.id)).map((memory) => ({ ...memory, isNew: false })),
  ];
  for (const turn of mine.turns)
    turn.learnt = turn.id ? mine.learnt.filter((memory) => memory.sources?.includes(turn.id)) : [];
  refresh(ui);
}
