/** Reports what keeps a command from running at all: a wrong command line, or an error that only a person can end. */
import { escaped } from "../protocol/text.ts";
import type { Invocation } from "./process-context.ts";

/** A failure in words, with the code that programs read. */
interface Failure {
  readonly code: string;
  readonly error: string;
}

/** Writes the failure for the reader of these words behind `kite`: in a sentence, or with `--json` as the command's refusals. */
export function reportFailure(
  { stdout, stderr }: Pick<Invocation, "stdout" | "stderr">,
  words: readonly string[],
  { code, error }: Failure,
): void {
  const end = words.indexOf("--");
  const isJson = (end === -1 ? words : words.slice(0, end)).includes("--json");
  if (!isJson) stderr.write(`kite: ${error}\n`);
  // Standard output belongs to the command that runs under the lock.
  else if (words[0] === "lock") stderr.write(`${line({ is: "refused", code, error })}\n`);
  else stdout.write(`${line({ ok: false, code, error })}\n`);
}

function line(value: object): string {
  return escaped(JSON.stringify(value));
}
