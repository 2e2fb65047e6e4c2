// Written by `holdfast install opencode`. It tells opencode what Holdfast remembers, and stores what is said.
import { spawnSync } from "node:child_process"

const COMMANDS = "COMMANDS"
const TIMEOUT_MS = 5000

// The call blocks, because `opencode run` can exit as soon as the answer is complete. A hook takes about 0.1 seconds.
function hook(event, payload) {
  try {
    const [command, ...args] = COMMANDS[event]
    const done = spawnSync(command, args, { input: JSON.stringify(payload), timeout: TIMEOUT_MS, encoding: "utf8" })
    return done.stdout ? JSON.parse(done.stdout).context : undefined
  } catch {
    return undefined
  }
}

export const Holdfast = async ({ directory }) => {
  const sessions = new Map()

  function session(id) {
    if (!sessions.has(id)) sessions.set(id, { known: undefined, relevant: undefined, messages: new Map() })
    return sessions.get(id)
  }

  function message(sessionID, id) {
    const { messages } = session(sessionID)
    if (!messages.has(id)) messages.set(id, { role: undefined, at: undefined, parts: new Map(), stored: false })
    return messages.get(id)
  }

  function store(event, sessionID) {
    const complete = [...session(sessionID).messages].filter(([, each]) => each.done && !each.stored && each.parts.size)
    const messages = complete.map(([id, each]) => ({
      id,
      role: each.role,
      text: [...each.parts.values()].join("\n\n"),
      at: each.at ? new Date(each.at).toISOString() : undefined,
    }))
    if (!messages.length && event !== "session-end") return
    hook(event, { session_id: sessionID, cwd: directory, messages })
    for (const [, each] of complete) each.stored = true
  }

  function note(event) {
    const { info, part } = event.properties
    if (event.type === "message.updated") {
      const entry = message(info.sessionID, info.id)
      entry.role = info.role
      entry.at = info.time?.created
      entry.done = entry.done || Boolean(info.time?.completed)
      if (info.role === "assistant" && info.time?.completed) store("stop", info.sessionID)
    }
    if (event.type === "message.part.updated" && part.type === "text" && !part.synthetic && !part.ignored && part.text) {
      message(part.sessionID, part.messageID).parts.set(part.id, part.text)
    }
  }

  return {
    "chat.message": async (input, output) => {
      const spoken = output.parts.filter((part) => part.type === "text" && !part.synthetic && !part.ignored)
      const entry = message(input.sessionID, output.message.id)
      Object.assign(entry, { role: "user", at: output.message.time?.created, done: true })
      for (const part of spoken) entry.parts.set(part.id, part.text)
      const known = session(input.sessionID)
      const prompt = spoken.map((part) => part.text).join("\n\n")
      const payload = { session_id: input.sessionID, cwd: directory, prompt, messages: [] }
      if (!known.started) known.known = hook("session-start", payload)
      known.started = true
      known.relevant = hook("prompt", payload)
      store("stop", input.sessionID)
    },
    "experimental.chat.system.transform": async (input, output) => {
      if (!input.sessionID) return
      const { known, relevant } = session(input.sessionID)
      for (const context of [known, relevant]) if (context) output.system.push(context)
    },
    event: async ({ event }) => {
      if (event.type === "message.updated" || event.type === "message.part.updated") note(event)
      if (event.type === "session.idle") store("stop", event.properties.sessionID)
      if (event.type === "session.deleted") {
        store("session-end", event.properties.info.id)
        sessions.delete(event.properties.info.id)
      }
    },
  }
}
