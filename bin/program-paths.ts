import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of all bundles and their chunks: the one that this file is in, or the one beside the sources. */
export const dist = fileURLToPath(
  new URL(import.meta.url.endsWith(".ts") ? "../dist/" : ".", import.meta.url),
);

/** The program that becomes the daemon. */
export const daemonProgram = join(dist, "daemon.mjs");
