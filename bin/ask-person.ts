import { createInterface } from "node:readline/promises";

/** Asks a question and returns the typed answer. */
export type AskPerson = (question: string) => Promise<string>;

/** The same; null: the person ended the command with Ctrl-C, or the terminal is gone. */
export type Questions = (question: string) => Promise<string | null>;

/** Returns how to ask at this process's terminal, or null if it has none. */
export function terminalQuestions(): Questions | null {
  const { stdin, stdout } = process;
  if (!stdin.isTTY || !stdout.isTTY) return null;
  return async question => {
    const reader = createInterface({ input: stdin, output: stdout });
    const closed = new Promise<null>(done => reader.once("close", () => done(null)));
    try {
      return await Promise.race([reader.question(question), closed]);
    } finally {
      reader.close();
    }
  };
}

/** The same for questions whose answer is no if there is none. */
export function terminalQuestion(): AskPerson | null {
  const ask = terminalQuestions();
  return ask === null ? null : async question => (await ask(question)) ?? "";
}

/** Whether the answer to a question with `[y/N]` is a yes. */
export function isYes(answer: string): boolean {
  return /^y(es)?$/i.test(answer.trim());
}
