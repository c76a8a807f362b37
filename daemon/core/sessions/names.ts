/**
 * The names of sessions.
 *
 * Invariants: every session has a name that is unique in its project. Only a person replaces a name that a person gave. A
 * title replaces no name from `register`. An ended session that begins again has its name again, if no other session has it.
 */

import { refuse } from "../../../protocol/codes.ts";
import { limits } from "../../../protocol/limits.ts";
import { recipientOf } from "../messages/inbox.ts";
import type { BaseState, Meta } from "../tables/base-state.ts";
import type { CommandOf, Step } from "../tables/entries.ts";
import { shortId } from "../tables/naming.ts";
import {
  freeName,
  type Named,
  nameKey,
  renameSession,
  type Session,
  type Sessions,
} from "../tables/sessions.ts";

// Names of two words, for sessions that neither a person nor their client named.

const kinds =
  "amber bold brave bright brisk calm clear clever cool crisp dawn deep eager early easy fair fast fine firm fond free fresh glad gold grand green happy hardy honest jolly keen kind light lively lucky merry mild misty neat noble plain proud pure quick quiet rapid rare ready rosy rusty sharp silent silver smart snowy solid sunny swift tidy warm wide wild wise witty young".split(
    " ",
  );
const things =
  "badger beaver bison camel cedar comet coral crane crow daisy dingo eagle ember falcon fern finch fjord fox gecko geyser goose harbor hare hawk hazel heron ibis iris ivy jaguar koala lark lemur lily lynx maple marten moose moth newt oak olive orca osprey otter owl panda pebble pine puffin quail raven river robin salmon seal sparrow spruce stork swan tiger trout tulip walrus willow wolf wren yak zebra".split(
    " ",
  );

/** Yields `max` pairs such as `calm-otter`, always the same for an id, of which the first that is free is its name. */
export function* pairsFor(id: string, max: number): Generator<string, void> {
  // FNV-1a: ids that differ little get pairs that differ in both words.
  let hash = 0x811c9dc5;
  for (let i = 0; i < id.length; i += 1) hash = Math.imul(hash ^ id.charCodeAt(i), 0x01000193) >>> 0;
  const all = kinds.length * things.length;
  for (let i = 0; i < max; i += 1) {
    const n = (hash + i * 1_009) % all;
    yield `${kinds[n % kinds.length]}-${things[Math.floor(n / kinds.length)]}`;
  }
}

/** What is known of a session that begins. `chosenName`: the name from its client; null: none. */
interface Nameless {
  readonly id: string;
  readonly project: string;
  readonly worktree: string;
  readonly branch: string | null;
  readonly chosenName: Named | null;
}

/** Returns the name of a session that begins. */
export function firstName(sessions: Sessions, session: Nameless, rules: number): Named {
  const { id, project, chosenName } = session;
  const kept = sessions.keptNames.get(id);
  const before = kept?.project === project ? kept : null;
  const wanted = before?.by === "person" ? before : (chosenName ?? before);
  if (wanted === null) return { name: ownName(sessions, session, rules), by: "kite" };
  return { name: freeName(sessions, project, wanted.name), by: wanted.by };
}

/** Returns the name that a live session wants after its client chose `chosenName`. */
export function nextName({ name, namedBy }: Session, chosenName: Named | null): Named {
  const now = { name, by: namedBy };
  if (chosenName === null || namedBy === "person") return now;
  if (chosenName.by !== "title") return chosenName;
  if (namedBy === "client") return now;
  // It has this title, with a number because another session had it first.
  const isSame =
    name.startsWith(`${chosenName.name}-`) && /^\d+$/.test(name.slice(chosenName.name.length + 1));
  return namedBy === "title" && isSame ? now : chosenName;
}

/** Keeps the name of a session that ends, if nobody would say it again. */
export function keepName({ keptNames }: Sessions, { id, name, project, namedBy: by }: Session): void {
  keptNames.delete(id);
  if (by === "client" || (by === "kite" && name === shortId(id))) return;
  keptNames.set(id, { name, by, project });
  const [oldest] = keptNames.keys();
  if (keptNames.size > limits.sessionNamesKeptMax && oldest !== undefined) keptNames.delete(oldest);
}

/**
 * Returns the branch or worktree with a word behind it, if it says more than the project does. Else returns a pair of words.
 * A client's short id stays as it is. A branch alone would name two things, and each session that works there in turn.
 */
function ownName(sessions: Sessions, session: Nameless, rules: number): string {
  const { id, project } = session;
  if (!isMachineMade(id)) return freeName(sessions, project, shortId(id));
  const isFree = (name: string) => !sessions.names.has(nameKey(project, name));
  const place = placeName(session);
  if (place !== null && rules < 2 && isFree(place)) return place;
  if (place !== null && rules >= 2)
    for (const pair of pairsFor(id, pairsTried)) {
      const name = `${place}-${pair.slice(pair.indexOf("-") + 1)}`;
      if (isFree(name)) return name;
    }
  for (const pair of pairsFor(id, pairsTried)) if (isFree(pair)) return pair;
  const [first = shortId(id)] = pairsFor(id, 1);
  return freeName(sessions, project, first);
}

const pairsTried = 16;

/** Whether nobody would say the id: it is a UUID or a long number. */
function isMachineMade(id: string): boolean {
  return /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}/i.test(id) || /^[0-9a-f]{16,}$/i.test(id);
}

const commonBranches: ReadonlySet<string> = new Set(
  "main master trunk develop development dev default head release staging production".split(" "),
);

/** The last part of the branch, else the directory of a linked worktree; null if neither says what is done there. */
function placeName({ project, worktree, branch }: Pick<Nameless, "project" | "worktree" | "branch">) {
  const own = worktree.slice(worktree.lastIndexOf("/") + 1);
  const isLinked = project.endsWith("/.git") && worktree !== project.slice(0, -"/.git".length);
  for (const candidate of [branch, isLinked ? own : null]) {
    const last = candidate === null ? "" : candidate.slice(candidate.lastIndexOf("/") + 1);
    const name = sayable(last.replace(/^worktree-/, ""));
    if (name !== null && !commonBranches.has(name.toLowerCase()) && !isMachineMade(name)) return name;
  }
  return null;
}

/**
 * Returns the text as a name that a person can say and type: its words with dashes between, as many as fit into
 * `limits.sayableChars`. Null if it has no word.
 */
export function sayable(text: string): string | null {
  const words = text.split(/[^\p{L}\p{N}._]+/u).filter(word => word !== "");
  let name = "";
  for (const word of words) {
    const more = name === "" ? word : `${name}-${word}`;
    if (name !== "" && more.length > limits.sayableChars) break;
    name = more;
  }
  const cut = [...name].slice(0, limits.sayableChars).join("");
  const trimmed = cut.replace(/^[._]+|[._]+$/gu, "");
  return /\p{L}/u.test(trimmed) ? trimmed : null;
}

// A person's name for a session. Invariant: an agent renames its own session alone; the name stays until a person's next.

export function sessionRename(
  state: BaseState,
  command: CommandOf<"session_rename">,
  _meta: Meta,
  step: Step,
): void {
  const { by, of, name, project } = command;
  const { sessions } = state;
  const found = recipientOf(state, project, of, "nothing renamed");
  if ("code" in found) {
    step.reply = found;
    return;
  }
  const session = sessions.live.get(found.id);
  if (session === undefined || found.agent !== null) {
    const error = `${found.name} is an agent within a session, which its client names; rename the session`;
    step.reply = refuse("invalid_request", error);
    return;
  }
  if (by !== null && by.session !== found.id) {
    const error = `only ${found.name} itself and a person rename it; ask your user: kite rename ${found.name} ${name}`;
    step.reply = refuse("person_only", error);
    return;
  }
  const other = sessions.names.get(nameKey(project, name));
  if (other !== undefined && other !== found.id) {
    step.reply = refuse(
      "name_taken",
      `another session of the project is called ${name}; choose another name`,
      {
        name,
      },
    );
    return;
  }
  const was = session.name;
  if (was !== name) renameSession(sessions, session, project, { name, by: "person" });
  else sessions.preimages.writable(session).namedBy = "person";
  const { id } = session;
  if (was !== name)
    step.events.push({ event: { event: "session_renamed", id, name, was, project }, about: [id], project });
  step.reply = { ok: true, id, name, was, project };
}
