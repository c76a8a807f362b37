/** Which lines of the trail a command shows. */
import { resolve } from "node:path";
import { type TrailDecision, type TrailLine, trailDecisions } from "../../daemon/trail/line.ts";
import { isResource, lockKey } from "../../protocol/names.ts";
import { nearest } from "../../protocol/text.ts";
import { projectRoot } from "../view/places.ts";

export interface TrailFilter {
  /** A session's or an agent's name, its id, or the beginning of its id. */
  readonly agent?: string | undefined;
  /** A file or directory by all its absolute names, or a resource by its key. */
  readonly paths?: readonly string[] | undefined;
  /** Without it all but `event`. */
  readonly decisions?: ReadonlySet<TrailDecision> | undefined;
  /** Wall time in milliseconds. */
  readonly since?: number | undefined;
}

/** Returns a test for the lines that every given filter lets through. */
export function wantedBy({ agent, paths, decisions, since }: TrailFilter): (line: TrailLine) => boolean {
  return line =>
    (decisions === undefined ? line.decision !== "event" : decisions.has(line.decision)) &&
    (since === undefined || line.at >= since) &&
    (agent === undefined || isOf(line, agent)) &&
    (paths === undefined || paths.some(path => isAbout(line, path)));
}

type Actor = Pick<TrailLine, "name" | "id" | "agent">;

/** The beginning of an id counts from this length on: shorter ones are names. */
const idCharsMin = 4;

/** Whether the line is about the agent: a session with all its agents, or one agent of a session. */
export function isOf({ name, id, agent: inner }: Actor, agent: string): boolean {
  if (name !== null && isNamed(name, agent)) return true;
  if (id === agent || inner === agent) return true;
  if (agent.length < idCharsMin) return false;
  return id?.startsWith(agent) === true || inner?.startsWith(agent) === true;
}

/** Whether a name is that of the session, one of its agents or terminals, or of this agent in any session. */
function isNamed(name: string, agent: string): boolean {
  if (name === agent || name.endsWith(`/${agent}`)) return true;
  return name.startsWith(agent) && (name[agent.length] === "/" || name[agent.length] === "#");
}

/** Whether the line is about the file, or a file below it; a resource is meant by its key. */
export function isAbout(line: TrailLine, path: string): boolean {
  const file = keyIn(line);
  return file !== null && isWithin(file, path);
}

/** Whether the path is the folder's or below it. A resource's key is below no other, however its project's folder lies. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || (!isResource(folder) && path.startsWith(folder === "/" ? folder : `${folder}/`));
}

/** What tells the line's file or resource from others. */
export function keyIn(line: TrailLine): string | null {
  const path = pathIn(line);
  return path === null ? null : lockKey({ path, project: line.project ?? "" });
}

/** The line's file as an absolute path, or its resource's name. Earlier versions recorded relative paths, too. */
export function pathIn({ file, project }: TrailLine): string | null {
  if (file === null || file.startsWith("/") || isResource(file)) return file;
  return resolve(projectRoot(project ?? "/"), file);
}

/** Returns the decisions that `text` names, separated by commas, or a sentence about the first that does not exist. */
export function decisionsIn(text: string): ReadonlySet<TrailDecision> | string {
  const found = new Set<TrailDecision>();
  for (const word of text.split(",").map(part => part.trim())) {
    const known = trailDecisions.find(decision => decision === word);
    if (known === undefined) {
      const near = nearest(word, trailDecisions);
      const meant = near === null ? "" : `; did you mean ${near}?`;
      return `--decision takes ${trailDecisions.join(", ")}, several separated by commas, not "${word}"${meant}`;
    }
    found.add(known);
  }
  return found;
}
