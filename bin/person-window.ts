/**
 * The window of a terminal in which a person is: who is wrongly taken for an agent types a word that only the terminal
 * shows, and counts as a person in that window from then on.
 *
 * Invariant: a window is a terminal with the uppermost process that has it, by its id and its start time; what runs below
 * an agent's process within the window is the agent's, and is not asked.
 */
import { randomInt } from "node:crypto";
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { createInterface } from "node:readline/promises";
import { ReadStream } from "node:tty";
import { statFields } from "../daemon/facts/process-table.ts";
import { type Ancestor, ancestorsOf } from "../daemon/facts/processes.ts";
import { isSystemError } from "../protocol/errors.ts";
import { limits } from "../protocol/limits.ts";

/** A process with the terminal that it has. */
interface Window {
  readonly terminal: string;
  readonly leader: Ancestor;
  /** The processes between the leader and this one. */
  readonly within: readonly Ancestor[];
}

/** Returns the window of this process, if it is in the foreground there; null: it has none, or the system does not tell. */
export function windowOf(pid: number = process.pid): Window | null {
  const own = terminalOf(pid);
  if (own === null || !own.isInFront) return null;
  const within: Ancestor[] = [];
  for (const ancestor of ancestorsOf(pid)) {
    if (terminalOf(ancestor.pid)?.terminal !== own.terminal) break;
    within.push(ancestor);
  }
  const leader = within.pop();
  return leader === undefined ? null : { terminal: own.terminal, leader, within };
}

/** The terminal of a process and whether its group has the input there (Linux). */
function terminalOf(pid: number): { readonly terminal: string; readonly isInFront: boolean } | null {
  try {
    const [, , group, , terminal = "0", front] = statFields(readFileSync(`/proc/${pid}/stat`, "utf8"));
    return terminal === "0" ? null : { terminal, isInFront: group === front };
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return null; // Not Linux, or gone.
  }
}

/** Whether a person typed the word in this window before. */
export function isKnown(file: string, window: Window): boolean {
  return readWindows(file).includes(keyOf(window));
}

/** Shows a word on the terminal and asks for it. Returns whether a person typed it, and remembers the window then. */
export async function askForWord(file: string, window: Window): Promise<boolean> {
  const word = newWord();
  const typed = await typedAt(
    `Kite takes this window for an agent's. If you are a person, type ${word} to count as one here: `,
  );
  if (typed?.trim() !== word) return false;
  const known = readWindows(file).filter(one => one !== keyOf(window));
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const kept = [...known, keyOf(window)].slice(-limits.personWindowsMax);
  writeFileSync(file, `${kept.join("\n")}\n`, { mode: 0o600 });
  return true;
}

function keyOf({ terminal, leader }: Window): string {
  return `${terminal} ${leader.pid} ${leader.startTime}`;
}

function readWindows(file: string): readonly string[] {
  try {
    return readFileSync(file, "utf8")
      .split("\n")
      .filter(line => line !== "");
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return []; // Nobody was asked yet, or the file cannot be read: then the person is asked again.
  }
}

function newWord(): string {
  const letters = (from: string) => from[randomInt(from.length)] ?? "";
  return Array.from({ length: 3 }, () => letters("bdfgklmnprstv") + letters("aeiou")).join("");
}

/** Returns the line that was typed at the terminal itself, whatever the streams are; null: none in time. */
async function typedAt(question: string): Promise<string | null> {
  let terminal: number;
  try {
    terminal = openSync("/dev/tty", "r+");
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return null; // It is gone.
  }
  const shown = openSync("/dev/tty", "w");
  writeFileSync(shown, question);
  closeSync(shown);
  const input = new ReadStream(terminal);
  const reader = createInterface({ input });
  const ending = AbortSignal.timeout(limits.personWordMs);
  try {
    return await new Promise<string | null>(resolve => {
      reader.once("line", resolve);
      reader.once("close", () => resolve(null));
      ending.addEventListener("abort", () => resolve(null), { once: true });
    });
  } finally {
    reader.close();
    input.destroy();
  }
}
