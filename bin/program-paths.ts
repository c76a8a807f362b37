import { join } from "node:path";

/** The folder of all bundles and their chunks: the one that this file is in, or the one beside the sources. */
export const dist = import.meta.filename.endsWith(".ts")
  ? join(import.meta.dirname, "../dist")
  : import.meta.dirname;

/** The program that becomes the daemon. */
export const daemonProgram = join(dist, "daemon.mjs");
