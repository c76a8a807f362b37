/** Declarations in a transcript: one word a text. */
import type { Actor } from "../../daemon/core/frame/actors.ts";
import type { State } from "../../daemon/core/state.ts";
import type { Command, Reply } from "../../daemon/core/tables/entries.ts";
import { actorRow } from "../../daemon/core/tables/naming.ts";
import type { DeclareReply } from "../../protocol/schemas/declaration.ts";
import { lockOf } from "../unit/core-world.ts";
import type { Words } from "./tasks.ts";

/** The command that a line about declarations stands for, or null where it is about something else. */
export function declareCommand(
  actor: Actor,
  verb: string,
  { plain, named }: Words,
  now: number,
): Command | null {
  const { session, agent } = actor;
  const text = (name: string) => named.get(name);
  if (verb === "teammate")
    return {
      ...{ type: "teammate_named", session, agent, name: text("name") ?? "", team: text("team") ?? "" },
      ...(named.has("lead") ? { lead: text("lead") ?? "" } : {}),
    };
  if (verb !== "declare") return null;
  const given = Object.fromEntries(
    ["role", "team", "task", "reason"].flatMap(name => (named.has(name) ? [[name, text(name)]] : [])),
  );
  const refs = (names: readonly string[]) => (names.length === 0 ? [] : lockOf(actor, names, now).files);
  const will = named.has("will") ? { will: text("will") ?? "", sees: "code" } : {};
  const question = text("question");
  const evidence = named.has("evidence") ? { evidence: text("evidence") ?? "" } : {};
  const resolved = named.has("resolved") ? { resolved: true } : {};
  return {
    type: "declare",
    actor,
    ancestors: agent === null ? [] : [null],
    anew: plain.includes("anew"),
    ...given,
    ...(named.has("confidence") ? { confidence: Number(text("confidence")) } : {}),
    ...(named.has("plan") ? { plan: (text("plan") ?? "").split(",") } : {}),
    files: [
      ...refs(plain.filter(word => word !== "anew")).map(ref => ({ ref, ...will })),
      ...refs(named.has("drop") ? [text("drop") ?? ""] : []).map(ref => ({ ref, drop: true })),
    ],
    uncertainties: question === undefined ? [] : [{ question, ...evidence, ...resolved }],
    wallMs: 0,
  };
}

/** What is said to who declares: the overlaps, what does not fit, and the names of what is missing. */
export function declareTold(reply: Reply): string | null {
  if (!isDeclared(reply)) return null;
  const { overlaps, mismatches, missing } = reply;
  const agree = overlaps.map(one => `overlaps ${one.with.name}: ${shown(one.path)}${willOf(one.will)}`);
  const lacks = missing.map(one => one.split(":", 1)[0]);
  const left = lacks.length === 0 ? "nothing is missing" : `missing ${lacks.join(", ")}`;
  return [...agree, ...mismatches, left].join("; ");
}

/** What each agent declares now, and what it is to be told of overlaps. */
export function shownDeclarations(state: State): string[] {
  const { declarations, notes } = state;
  const rows = [...declarations.live.values()].map(one => {
    const { session, agent, role, task, files, uncertainties } = one;
    const view = files.map(
      ({ path, dir, touched }) => `${shown(path)}${dir ? "/" : ""}${touched ? " (changed)" : ""}`,
    );
    const open = uncertainties
      .filter(({ resolved }) => !resolved)
      .map(({ question }) => `not sure: ${question}`);
    const said = [role, task, ...view, ...open].filter(text => text !== "").join(", ");
    return `${actorRow(state, { session, agent, incarnation: 0 }).name}: ${said}`;
  });
  const told = [...notes.pending.values()].flatMap(({ session, agent, notes: all }) =>
    all.flatMap(({ note }) => {
      const who = actorRow(state, { session, agent, incarnation: 0 }).name;
      return note.what === "overlap"
        ? [`to tell ${who}: ${note.other} declared ${shown(note.file)}${willOf(note.will)}`]
        : [];
    }),
  );
  const ended = declarations.ended.size === 0 ? [] : [`ended: ${declarations.ended.size}`];
  const lines = [...rows, ...told, ...ended];
  return lines.length === 0 ? ["nothing is declared"] : lines;
}

function isDeclared(reply: object): reply is DeclareReply {
  return "declaration" in reply && "overlaps" in reply;
}

function shown(path: string): string {
  return path.replace(/^\/p\//, "");
}

function willOf(will: string): string {
  return will === "" ? "" : ` (will ${will})`;
}
