/** What the person is called whose machine this is: the one name on every screen, in every text for agents. */
import { plain } from "./text.ts";

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
