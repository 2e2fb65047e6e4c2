// First steps: who you are, three steps that show memory at work, sample data, and a local model.

import { del, get, part, post, put, randomId } from "../api.js";
import { confirm, losses, showReceipt } from "../dialogs.js";
import { h, icon, replace } from "../dom.js";
import { current, t } from "../i18n.js";
import { renew } from "../known.js";
import { hitCard, memoryLink, nextChatNote, told } from "../parts.js";
import { latest, record } from "../samples.js";
import { changed, scope, useDefaultUser } from "../settings.js";
import { pickScope } from "../shell.js";
import { attempt, button, head, link, load, toast } from "../ui.js";
import { ollamaNote } from "./admin/models.js";

export function view(route, signal) {
  const box = h("div");
  const read = async () => (await Promise.all([get("/v1/setup", {}, signal), record()]))[0];
  const fill = () => load(box, read, (setup) => draw(setup, fill, signal), { signal });
  fill();
  return { node: h("div.page.narrow-page", {}, head(t("nav.start"), t("start.lead")), box) };
}

function draw(setup, fill, signal) {
  const user = scope().user ?? setup.user;
  return [
    who(setup, user),
    h("div.steps", {}, steps(setup, user)),
    h("div.start-more", {}, samples(setup, fill), model(setup, signal), next()),
  ];
}

/** Ask for the default user once. Later, say whose memory is used. */
function who(setup, user) {
  if (setup.is_user_chosen !== false) {
    return h(
      "section.panel-box.who",
      {},
      h("h2", {}, user ? t("start.you", { name: user }) : t("start.shared")),
      h("p", {}, user ? t("start.youNote") : t("chat.welcome.shared")),
      button(t("start.otherUser"), pickScope, { name: "person" }),
    );
  }
  const input = h("input", {
    type: "text",
    value: setup.user ?? "",
    autocomplete: "name",
    "aria-label": t("start.who"),
  });
  const save = async () => {
    const found = await put("/v1/setup/user", { user: input.value.trim() });
    await describe(found.user);
    renew();
    useDefaultUser(found.user);
    toast(t("start.hello", { name: found.user }));
    changed.dispatchEvent(new CustomEvent("change", { detail: ["user"] }));
  };
  return h(
    "section.panel-box.who",
    {},
    h("h2", {}, t("start.who")),
    h("p", {}, t("start.whoNote")),
    form(input, t("start.me"), save, "who"),
  );
}

/** Store the language and the time zone of this browser for a user, so that blocks are in that language from the start. */
async function describe(user) {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  await put(`/v1/users/${part(user)}`, { language: current(), ...(timeZone && { timezone: timeZone }) }).catch(
    () => null,
  );
}

/** A field with a button. `work` runs if the field has text. */
function form(input, label, work, action) {
  const submit = h("button.button.primary", { type: "submit", dataset: { action } }, label);
  return h(
    "form.step-form",
    {
      onsubmit: (event) => {
        event.preventDefault();
        if (input.value.trim()) attempt(submit, work);
        else input.focus();
      },
    },
    input,
    submit,
  );
}

function steps(setup, user) {
  const state = { user, chat: setup.chat, memory: null, question: "" };
  const parts = { say: step("say"), ask: step("ask"), forget: step("forget") };
  const open = (name) => {
    for (const each of parts[name].node.querySelectorAll("input, button")) each.disabled = false;
    parts[name].node.classList.remove("is-waiting");
  };
  const finish = (name, following) => {
    parts[name].node.classList.add("is-done");
    if (following) open(following);
  };
  replace(
    parts.say.controls,
    saying(state, parts.say.result, () => finish("say", "ask")),
  );
  replace(
    parts.ask.controls,
    asking(state, parts.ask.result, () => finish("ask", "forget")),
  );
  replace(
    parts.forget.controls,
    forgetting(state, parts.forget.result, () => finish("forget")),
  );
  for (const name of ["ask", "forget"]) {
    for (const each of parts[name].node.querySelectorAll("input, button")) each.disabled = true;
    parts[name].node.classList.add("is-waiting");
  }
  return Object.values(parts).map((each) => each.node);
}

function step(name) {
  const controls = h("div.step-result");
  const result = h("div.step-result", { "aria-live": "polite" });
  const node = h(
    "section.step",
    { dataset: { step: name } },
    h("h2", {}, t(`start.${name}`)),
    h("p", {}, t(`start.${name}Note`)),
    controls,
    result,
  );
  return { node, controls, result };
}

function saying(state, result, done) {
  const input = h("input", { type: "text", value: t("start.example"), "aria-label": t("start.say") });
  const say = async () => {
    state.memory = await post("/v1/memories", { text: input.value.trim(), ...owner(state) });
    replace(
      result,
      h(
        "p.good",
        {},
        icon("check", 16),
        " ",
        t(state.user ? "start.kept" : "start.keptShared", { name: state.user ?? "" }),
        " ",
        h("a", { href: memoryLink(state.memory.id) }, t("start.see")),
      ),
    );
    done();
  };
  return form(input, t("start.remember"), say, "remember");
}

const owner = (state) => (state.user ? { user: state.user } : {});

function asking(state, result, done) {
  // Without an embedder, only a question with the same words finds the memory.
  const question = latest && !latest.embedder ? t("start.questionWords") : t("start.question");
  const input = h("input", { type: "text", value: question, "aria-label": t("start.ask") });
  const ask = async () => {
    state.question = input.value.trim();
    const found = await post("/v1/recall", { query: state.question, limit: 3, ...owner(state) });
    const isRecalled = found.hits.some((hit) => hit.id === state.memory.id);
    replace(
      result,
      isRecalled
        ? [
            h("p", {}, t("start.found", { n: found.hits.length })),
            h(
              "div.hits",
              {},
              found.hits.map((hit) => hitCard(hit, { open: false })),
            ),
          ]
        : h("p", {}, t("start.foundNone")),
      await reply(state),
    );
    if (isRecalled) done();
  };
  return form(input, t("start.askGo"), ask, "ask");
}

/** The reply of the chat model; without one, the text that it would be given. The session of the reply is not kept. */
async function reply(state) {
  if (!state.chat) {
    const context = await post("/v1/context", { query: state.question, ...owner(state) });
    const block = context.text ? told(context) : h("p.quiet", {}, t("context.empty"));
    return h("details", { open: true }, h("summary", {}, t("start.noModel")), block);
  }
  const id = `start-${randomId()}`;
  try {
    const answer = await post(`/v1/sessions/${part(id)}/chat`, {
      text: state.question,
      ...(state.user ? { user: state.user } : { shared: true }),
    });
    return h(
      "div.panel-box",
      {},
      h("small.quiet", {}, t("start.says", { model: state.chat })),
      h("p", { dir: "auto" }, answer.text),
    );
  } finally {
    await del(`/v1/sessions/${part(id)}`, owner(state)).catch(() => null);
  }
}

function forgetting(state, result, done) {
  const again = async () => {
    const found = await post("/v1/recall", { query: state.question, limit: 3, ...owner(state) });
    return found.hits.some((hit) => hit.id === state.memory.id);
  };
  const forget = async () => {
    await post("/v1/forget", { id: state.memory.id });
    const still = await again();
    replace(
      result,
      h(
        "p",
        { class: still ? "bad" : "good" },
        icon(still ? "warn" : "check", 16),
        " ",
        t(still ? "start.stillThere" : "start.gone"),
      ),
      h(
        "div.actions",
        {},
        button(t("undo"), undo, { name: "undo", dataset: { action: "start-undo" } }),
        eraseButton(state, result),
      ),
    );
    done();
  };
  const undo = (event) =>
    attempt(event.currentTarget, async () => {
      const { items } = await get(`/v1/memories/${part(state.memory.id)}/history`);
      await post("/v1/undo", { change: items.at(-1).id });
      replace(
        result,
        h("p.good", {}, icon("undo", 16), " ", t((await again()) ? "start.back" : "start.backQuiet")),
        eraseButton(state, result),
      );
    });
  return button(t("start.forgetGo"), (event) => attempt(event.currentTarget, forget), {
    kind: "primary",
    name: "hide",
    dataset: { action: "forget" },
  });
}

function eraseButton(state, result) {
  const erase = (event) =>
    attempt(event.currentTarget, async () => {
      const receipt = await post("/v1/erase", { id: state.memory.id });
      replace(result, h("p.good", {}, icon("check", 16), " ", t("start.erased")));
      await showReceipt(receipt);
    });
  return button(t("start.erase"), erase, { kind: "danger-text", name: "erase", dataset: { action: "start-erase" } });
}

function samples(setup, fill) {
  const stored = setup.samples.length > 0;
  const add = (event) =>
    attempt(event.currentTarget, async () => {
      await post("/v1/samples", { language: current() });
      renew();
      toast(t("samples.added"));
      fill();
    });
  const remove = async (event) => {
    const control = event.currentTarget;
    const points = await attempt(control, () => losses(...setup.samples.map((user) => ({ user }))));
    if (!points) return;
    const sure = await confirm({
      title: t("samples.remove"),
      points: [t("samples.lose", { names: setup.samples.join(", ") }), ...points, t("erase.point3")],
      action: t("samples.remove"),
      danger: true,
    });
    if (!sure) return;
    const found = await attempt(control, () => del("/v1/samples"));
    if (!found) return;
    renew();
    for (const receipt of found.receipts) await showReceipt(receipt);
    fill();
  };
  return h(
    "section.panel-box",
    { dataset: { part: "samples" } },
    h("h2", {}, t("samples.title")),
    h("p", {}, stored ? t("samples.stored", { names: setup.samples.join(", ") }) : t("samples.lead")),
    h(
      "div.actions",
      {},
      stored && link(t("samples.look"), "#/people", { name: "people" }),
      stored
        ? button(t("samples.remove"), remove, {
            kind: "danger-text",
            name: "erase",
            dataset: { action: "remove-samples" },
          })
        : button(t("samples.add"), add, { name: "plus", dataset: { action: "add-samples" } }),
    ),
  );
}

function model(setup, signal) {
  const box = h("div");
  if (!setup.chat) lookForOllama(box, signal);
  return h(
    "section.panel-box",
    { dataset: { part: "model" } },
    h("h2", {}, t("start.model")),
    h("p", {}, setup.chat ? t("start.modelSet", { name: setup.chat }) : t("start.modelNone")),
    nextChatNote(),
    box,
  );
}

async function lookForOllama(box, signal) {
  try {
    const found = await get("/v1/ollama", {}, signal);
    if (!signal.aborted) replace(box, found.found ? ollamaNote(found) : h("p.quiet", {}, t("ollama.none")));
  } catch {
    /* the key may not ask */
  }
}

const next = () =>
  h(
    "div.actions",
    {},
    link(t("nav.chat"), "#/chat", { name: "chat" }),
    link(t("admin.data"), "#/admin/data", { name: "plus" }),
    link(t("nav.memories"), "#/memories", { name: "memories" }),
  );
