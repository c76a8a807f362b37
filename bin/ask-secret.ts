/** Asks for a secret at the terminal: what is typed is shown nowhere. */
import type { ReadStream } from "node:tty";

/** Asks and returns what was typed; null: the person ended the question with Ctrl-C or Ctrl-D. */
export type AskSecret = (question: string) => Promise<string | null>;

/** Returns how to ask at this process's terminal, or null if it has none. */
export function terminalSecret(): AskSecret | null {
  const { stdin, stdout } = process;
  if (!stdin.isTTY || !stdout.isTTY) return null;
  return async question => {
    const typed = typedSecretly(stdin);
    // Behind the end of the echo: who types ahead is not shown, either.
    stdout.write(question);
    try {
      return await typed;
    } finally {
      stdout.write("\n");
    }
  };
}

/** Ends the echo at once, and reads a line. A longer one than any password ends the question. */
function typedSecretly(input: ReadStream): Promise<string | null> {
  const charsMax = 10_000;
  return new Promise(resolve => {
    let typed = "";
    const end = (result: string | null) => {
      input.off("data", take);
      input.off("end", gone);
      input.setRawMode(false);
      input.pause();
      resolve(result);
    };
    const gone = () => end(null);
    const take = (piece: Buffer) => {
      for (const key of piece.toString("utf8")) {
        if (key === "\r" || key === "\n") return end(typed);
        if (key === "\u0003" || key === "\u0004" || typed.length > charsMax) return end(null);
        if (key === "\u007f" || key === "\b") typed = [...typed].slice(0, -1).join("");
        else typed += key;
      }
    };
    input.setRawMode(true);
    input.on("data", take);
    input.on("end", gone);
    input.resume();
  });
}
