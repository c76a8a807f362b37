/** `kite --version` in one file: see build.mjs. */
import { endQuietlyWithReader } from "../entry.ts";
import { version } from "../version.ts";

/** Prints this program's version. */
export async function start(): Promise<void> {
  endQuietlyWithReader();
  process.stdout.write(`${version}\n`);
}
