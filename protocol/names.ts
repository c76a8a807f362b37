/** What the person is called whose machine this is: the one name on every screen, in every text for agents. */

import { limits } from "./limits.ts";
import { plain, quote } from "./text.ts";

/** What rows, refusals and lines of the trail say of who asks without a session: a word of the wire, not for a screen. */
export const personOnWire = "a person at a terminal";

/** The id of a machine's person in rows of a shared store; rows call this machine's own one null. */
export function personIdOf(node: string): string {
  return `person@${node}`;
}

/** Returns the node whose person has this id, or null: it is no person's. */
export function personsNode(id: string): string | null {
  return /^person@([\w-]+)$/.exec(id)?.[1] ?? null;
}

/** Who reads the name: the person, or an agent, which learns with it that this is its user. */
type Reader = "person" | "agent";

/** The one thing here that lasts; every program sets it as it begins, from what the system says. */
let user = "";

/** Says who the person is: the user that runs this program. A daemon and all that reach it are of one user. */
export function setPerson(userName: string): void {
  user = plain(userName);
}

/** Returns the person's name; "the user" or "your user" as long as nobody set one. */
export function personName(reader: Reader = "person"): string {
  const article = reader === "person" ? "" : "your user";
  return user === "" ? article || "the user" : `${article} ${user}`.trim();
}

/** Returns a name of the wire as people read it: the person's own for null, "" and the word of the wire. */
export function nameOrPerson(name: string | null, reader: Reader = "person"): string {
  return name === null || name === "" || name === personOnWire ? personName(reader) : name;
}

/** Whether the session is that of a command at a terminal, which a person ran: `terminal-` and the command's process. */
export function isCommandsSession(id: string): boolean {
  return /^terminal-(?:\d+-)?\d+$/.test(id);
}

/** Returns a sentence of the daemon with the person's name for the word of the wire. */
export function withPersonName(sentence: string, reader: Reader = "person"): string {
  return sentence.replaceAll(named, () => personName(reader));
}

/** In `only a person at a terminal may` it means any person. */
const named = new RegExp(`(?<!\\bonly )${personOnWire}`, "g");

// Names of what is no file, and that agents share: a browser, a database, a port, a build. A lock on a name is like one on a
// file. `@port-N` and `@machine/NAME` mean the same for the whole machine, any other name for its project.

const machine = "machine/";
const plainName = /^[A-Za-z0-9][\w.-]*$/;
const portsMax = 65_535;

/** Whether a word that names a file or a resource names a resource. The file of that name is `./@name`. */
export function isResource(word: string): boolean {
  return word.startsWith("@");
}

/** Returns what is wrong with the name of a resource, as a sentence without an end; null: nothing. */
export function wrongResource(name: string): string | null {
  const inner = name.startsWith(`@${machine}`) ? name.slice(machine.length + 1) : name.slice(1);
  const shown = quote(name, limits.resourceChars);
  if (!isResource(name) || name.length > limits.resourceChars || !plainName.test(inner))
    return (
      `${shown} is no name of a resource: write @ and letters, digits, dots, _ and -, at most ${limits.resourceChars} ` +
      "characters, as in @db, @port-3000 and @machine/gpu; a file is named with ./ before the @"
    );
  if (name === `@${machine.slice(0, -1)}`) return "@machine needs a name behind it, as in @machine/gpu";
  const [, port] = /^port-(\d.*)$/i.exec(inner) ?? [];
  if (port === undefined || inner !== name.slice(1) || isPort(port)) return null;
  return `${shown} is no port: write @port- and a number from 1 to ${portsMax}, as in @port-3000`;
}

function isPort(text: string): boolean {
  return /^[1-9]\d{0,4}$/.test(text) && Number(text) <= portsMax;
}

/** Returns the name in lower case: `@DB` and `@db` are one resource. */
export function resourceName(name: string): string {
  return name.toLowerCase();
}

/**
 * Returns what tells one resource from another on a machine: the name, and the project unless it is the machine's. A path
 * stays as it is.
 */
export function lockKey({ path, project }: { readonly path: string; readonly project: string }): string {
  if (!isResource(path)) return path;
  const name = resourceName(path);
  return isOfMachine(name) ? name : `${name}@${project}`;
}

/** Returns the resource's name in its key. */
export function nameInKey(key: string): string {
  return isResource(key) ? (/^@[^@]*/.exec(key)?.[0] ?? key) : key;
}

/** Whether the resource is the machine's, not a project's. */
export function isOfMachine(name: string): boolean {
  return /^@(?:machine\/|port-\d)/.test(resourceName(name));
}

// Sessions of agents whose clients have no hooks of Kite: they ask by tools alone, and nothing holds their edits back.

/** Returns the id of such a session; `unique` is 8 hex digits. The server of its tools registers it. */
export function unhookedSession(unique: string): string {
  return `mcp-${unique}`;
}

/** Whether a session's id is one of these. */
export function isUnhooked(session: string): boolean {
  return /^mcp-[0-9a-f]{8}$/.test(session);
}

/** How much care a task needs, from the least to the most. */
export const risks = ["green", "yellow", "red", "critical"] as const;
export type Risk = (typeof risks)[number];

/** What makes a task so: how hard it would be to take back what goes wrong, and whom it hits. */
export const riskReasons: Readonly<Record<Risk, string>> = {
  green: "easily taken back, and nobody else is hit",
  yellow: "others build on it, or it takes some work to take back",
  red: "many are hit, or it is hard to take back: one at a time, under another lead's eyes",
  critical: "it cannot be taken back (data, a release, secrets): one at a time, with a person's yes",
};

/** Whether tasks of this risk need a lead's eyes or a person's yes, and run one at a time in a project. */
export function isGrave(risk: Risk): risk is "red" | "critical" {
  return risk === "red" || risk === "critical";
}
