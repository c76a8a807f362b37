import { fileURLToPath } from "node:url";

/** Where the bundles lie: all of them, and all their chunks, in one folder. */
export const dist = fileURLToPath(new URL(".", import.meta.url));

/** The program that becomes the daemon. */
export const daemonProgram = fileURLToPath(new URL("daemon.mjs", import.meta.url));
