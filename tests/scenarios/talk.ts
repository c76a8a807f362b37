/** Context, messages and freezes in a transcript. */
import type { Actor } from "../../daemon/core/frame/actors.ts";
import type { State } from "../../daemon/core/state.ts";
import type { Command } from "../../daemon/core/tables/entries.ts";
import { lockOf } from "../unit/core-world.ts";
import type { Words } from "./tasks.ts";

const place = { project: "/p", wallMs: 0 };

/** The command that such a line stands for, or null where it is about something else. */
export function talkCommand(
  actor: Actor,
  verb: string,
  { plain, named }: Words,
  now: number,
): Command | null {
  const [first = "", ...rest] = plain;
  const ifVersion = named.has("if") ? Number(named.get("if")) : null;
  switch (verb) {
    case "context_set": {
      const value = rest.join(" ");
      const durable = rest.includes("durable");
      const ttlMs = named.has("ttl") ? Number(named.get("ttl")) : null;
      const said = { actor, key: first, value, bytes: value.length, durable, ifVersion, ttlMs };
      return { type: "context_set", ...place, ...said };
    }
    case "context_delete":
      return { type: "context_delete", actor, project: "/p", key: first, ifVersion };
    case "message_send": {
      const replyTo = named.get("reply") ?? null;
      const [to, words] = replyTo === null ? [first, rest] : [null, plain];
      return { type: "message_send", actor, to, replyTo, urgent: false, ...texts(words) };
    }
    case "message_ack":
      return { type: "message_ack", actor, messages: plain };
    case "takes":
      return { type: "inbox_take", actor, max: 3, chars: 1500 };
    case "got":
      return { type: "inbox_told", actor, messages: plain, heard: true };
    case "missed":
      return { type: "inbox_told", actor, messages: plain, heard: false };
    case "broadcast": {
      const held = named.get("hold");
      const files = held === undefined ? [] : lockOf(actor, held.split("+"), now).files;
      const hold = held === undefined ? null : { files, ttlMs: Number(named.get("ttl") ?? 60_000) };
      return { type: "broadcast", actor, hold, ...texts(plain) };
    }
    case "resume":
      return { type: "resume", actor, project: "/p", hold: plain[0] ?? null };
    case "agent_begins":
      return { type: "agent_begin", session: actor.session, agent: actor.agent ?? "", name: first };
    case "agent_ends":
      return { type: "agent_end", actor };
    default:
      return null;
  }
}

/** Who has which message, and what is shared, a line each. */
export function shownTalk({ context, messages }: State): string[] {
  const values = [...context.items.values()].map(
    ({ key, value, version }) =>
      `${key} = ${typeof value === "object" ? JSON.stringify(value) : String(value)} (version ${version})`,
  );
  const letters = [...messages.all.values()].flatMap(({ id, text, letters: all }) =>
    [...all.values()].map(({ to, state, undelivered }) => {
      const back = undelivered === null ? "" : `, not delivered to ${undelivered}`;
      return `${id} "${text}" with ${to.name}: ${state}${back}`;
    }),
  );
  const lines = [...values, ...letters];
  return lines.length === 0 ? ["nothing is shared"] : lines;
}

function texts(words: readonly string[]) {
  const text = words.join(" ");
  return { text, bytes: text.length, ...place };
}
