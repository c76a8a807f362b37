import { fileURLToPath } from "node:url";

/** The folder of all bundles and their chunks. */
export const dist = fileURLToPath(new URL(".", import.meta.url));

/** The program that becomes the daemon. */
export const daemonProgram = fileURLToPath(new URL("daemon.mjs", import.meta.url));
