/** The one file that OpenCode loads. The client takes each export for a plugin and calls it once for each project that it opens. */
import { hooksFor, type Input } from "./hooks.ts";

export const Kite = (input: Input) =>
  hooksFor(input, { env: process.env, isScripted: process.argv[2] === "run" });
