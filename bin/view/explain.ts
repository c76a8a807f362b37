/** Decisions as sentences, read from the trail alone, so that `kite explain` needs no daemon. */
import { resolve } from "node:path";
import type { TrailLine } from "../../daemon/trail/line.ts";
import { projectRoot, tilde } from "./places.ts";
import { clean, clock, counted, duration, type Screen, wrap } from "./text.ts";

/** One thing that happened to a file or a session. Times are wall time in milliseconds. */
export interface Explained {
  readonly at: number;
  readonly who: string;
  readonly what: "took" | "waited" | "denied" | "released" | "not_released" | "ended" | "noted";
  /** Absolute, if the project's directory is known. */
  readonly file: string | null;
  readonly project: string | null;
  /** The git command of a shell line that the guard checked. */
  readonly command: string | null;
  /** Duration in milliseconds, if it was long enough to notice. */
  readonly waitedMs: number;
  /** Number of equal decisions that followed directly, and the time of the last one. */
  readonly again: number;
  readonly until: number;
  /** The other session that took the file last, and when. */
  readonly before: { readonly who: string; readonly at: number } | null;
  readonly code: string | null;
  readonly why: string | null;
}

/** Shorter waits, in milliseconds, are only the time of an answer. */
const noticedMs = 100;

/**
 * Returns the decisions of the `wanted` lines, oldest first; the other lines show which session had a file before.
 * Equal decisions of one session in a row (an agent edits one file many times) become one.
 */
export function explain(
  lines: readonly TrailLine[],
  wanted: (line: TrailLine) => boolean,
): readonly Explained[] {
  const takers = new Map<string, Map<string, number>>();
  const found: Explained[] = [];
  for (const line of lines) {
    const one = explained(line, takers);
    if (one.file !== null) remember(takers, one);
    if (!wanted(line)) continue;
    const last = found.at(-1);
    if (last !== undefined && isSame(last, one)) {
      found[found.length - 1] = { ...last, again: last.again + 1, until: one.at };
    } else found.push(one);
  }
  return found;
}

function explained(line: TrailLine, takers: ReadonlyMap<string, ReadonlyMap<string, number>>): Explained {
  const { at, project, code = null, why = null, ms = 0 } = line;
  const who = whoOf(line);
  const file = line.file === null ? null : resolve(projectRoot(project ?? "/"), line.file);
  const what = whatOf(line);
  const others = [...((file === null ? undefined : takers.get(file)) ?? [])].filter(([name]) => name !== who);
  const [latest] = others.sort((a, b) => b[1] - a[1]);
  const asked = (what === "waited" || what === "denied") && commandOf(line) === null;
  const before = asked && latest !== undefined ? { who: latest[0], at: latest[1] } : null;
  const command = commandOf(line);
  return { at, who, what, file, project, command, waitedMs: ms, again: 0, until: at, before, code, why };
}

function commandOf({ type }: TrailLine): string | null {
  return isGit(type) ? type : null;
}

function isGit(type: string | null): type is string {
  return type?.startsWith("git ") === true;
}

function whatOf({ event, type, decision, file, ms = 0 }: TrailLine): Explained["what"] {
  if (event === "SessionEnd") return "ended";
  if (isGit(type)) return decision === "deny" ? "denied" : "noted";
  if (file === null || decision === "note" || decision === "wait") return "noted";
  if (event === "file_unlock") return decision === "allow" ? "released" : "not_released";
  if (decision === "deny") return "denied";
  return ms >= noticedMs ? "waited" : "took";
}

/** Records the session that took a file last, until it releases the file. */
function remember(takers: Map<string, Map<string, number>>, { file, who, what, at }: Explained): void {
  if (file === null) return;
  const names = takers.get(file) ?? new Map<string, number>();
  takers.set(file, names);
  if (what === "took" || what === "waited") names.set(who, at);
  if (what === "released") names.delete(who);
}

function isSame(last: Explained, one: Explained): boolean {
  const alike = last.who === one.who && last.what === one.what && last.file === one.file;
  return alike && last.command === one.command && one.what !== "waited" && last.why === one.why;
}

function whoOf({ name, id, agent }: TrailLine): string {
  const who = name ?? id?.slice(0, 8) ?? "somebody";
  return agent === null || who.includes("/") ? who : `${who}/${agent.slice(0, 8)}`;
}

/** Returns the sentence with its time in front, wrapped to the width. */
export function explainLines(one: Explained, screen: Screen): string[] {
  return wrap(`${clock(one.at, screen.now)}  ${sentence(one, screen)}`, screen.width, 10);
}

function sentence(one: Explained, screen: Screen): string {
  const who = clean(one.who);
  const file = one.file === null ? "" : fileOf(one.file, one.project, screen.home);
  const command = one.command === null ? null : `\`${clean(one.command)}\``;
  const waited = one.waitedMs >= noticedMs ? ` after ${duration(one.waitedMs)}` : "";
  const why = one.why === null ? "" : `: ${clean(one.why)}`;
  const again =
    one.again === 0 ? "" : `, and again ${counted(one.again, "time")} until ${clock(one.until, screen.now)}`;
  switch (one.what) {
    case "took":
      return `${who} took ${file} at once${again}.`;
    case "waited":
      return `${who} waited ${duration(one.waitedMs)} for ${file}, then had it.${earlier(one, screen)}`;
    case "denied":
      return `${who} was denied ${command ?? file}${waited}${again}${ended(why)}${earlier(one, screen)}`;
    case "released":
      return `${who} released ${file}${again}.`;
    case "not_released":
      return `${who} could not release ${file}${again}${ended(why)}`;
    case "ended":
      return `${who}'s session ended${one.why === null ? "" : ` (${clean(one.why)})`}.`;
    case "noted":
      if (command !== null) return `${who} ran ${command}${waited}${again}${ended(why)}`;
      return `${who}${file === "" ? "" : `, ${file}`}${again}${ended(why)}`;
  }
}

function earlier({ before }: Explained, screen: Screen): string {
  return before === null ? "" : ` ${clean(before.who)} had taken it at ${clock(before.at, screen.now)}.`;
}

function ended(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function fileOf(file: string, project: string | null, home: string): string {
  const root = project?.startsWith("/") === true ? `${projectRoot(project)}/` : "";
  return clean(root !== "" && file.startsWith(root) ? file.slice(root.length) : tilde(file, home));
}
