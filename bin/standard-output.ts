/** What becomes of a program whose output cannot be written. */
import { errorText } from "../protocol/errors.ts";

/**
 * Exits quietly if the reader has closed the pipe, as in `kite log | head`. Any other failure of the output (a full disk)
 * is told on standard error, if that still works.
 */
export function endQuietlyWithReader(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit();
    process.stderr.write(`kite: the output cannot be written: ${outputProblem(error)}\n`);
    process.exit(1);
  });
  // Without standard error nobody can be told; the exit code still says how the command ended.
  process.stderr.on("error", () => process.exit(1));
}

function outputProblem(error: Error): string {
  return errorText(error).replace("the disk of the file", "its disk").replace("the file", "it");
}
