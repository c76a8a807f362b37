import { createInterface } from "node:readline/promises";

/** Asks a question and returns the typed answer. */
export type AskPerson = (question: string) => Promise<string>;

/** Returns how to ask at this process's terminal, or null if it has none. */
export function terminalQuestion(): AskPerson | null {
  const { stdin, stdout } = process;
  if (!stdin.isTTY || !stdout.isTTY) return null;
  return async question => {
    const reader = createInterface({ input: stdin, output: stdout });
    // A closed terminal is no answer.
    const closed = new Promise<string>(done => reader.once("close", () => done("")));
    try {
      return await Promise.race([reader.question(question), closed]);
    } finally {
      reader.close();
    }
  };
}

/** Whether the answer to a question with `[y/N]` is a yes. */
export function isYes(answer: string): boolean {
  return /^y(es)?$/i.test(answer.trim());
}
