/** Checks or creates Kite's directory. */
import { lstatSync, mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { errorText } from "../../protocol/errors.ts";
import { shellArgument } from "../../protocol/text.ts";

/** Why the daemon cannot start, with what to do. */
export interface Refused {
  readonly is: "refused";
  readonly code: "home_unsafe" | "socket_path_long" | "lock_unavailable" | "not_a_socket";
  readonly error: string;
}

/**
 * Ensures that Kite's directory exists, belongs to this user and is closed to others; creates it if missing. Never
 * changes an existing one: the person who opened it should know, and it may not be Kite's at all.
 */
export function openHome(path: string): Refused | null {
  // Without a slash at the end, which would follow a link.
  const home = resolve(path);
  try {
    mkdirSync(home, { recursive: true, mode: 0o700 });
    const stat = lstatSync(home);
    const uid = process.getuid?.();
    if (stat.isSymbolicLink()) {
      return unsafe(`${home} is a symbolic link; set KITE_HOME to the directory itself`);
    }
    if (!stat.isDirectory()) return unsafe(`${home} is not a directory; move it away or set KITE_HOME`);
    if (uid !== undefined && stat.uid !== uid) {
      return unsafe(
        `${home} belongs to user ${stat.uid}, not to you (${uid}); set KITE_HOME to a directory of your own`,
      );
    }
    if ((stat.mode & 0o077) !== 0) {
      const mode = (stat.mode & 0o777).toString(8).padStart(4, "0");
      return unsafe(
        `${home} is open to other users (mode ${mode}); if it is Kite's, run: chmod 700 ${shellArgument(home)}`,
      );
    }
    return null;
  } catch (error) {
    return unsafe(
      `${home} cannot be made or read (${errorText(error)}); set KITE_HOME to a directory you can write to`,
    );
  }
}

function unsafe(error: string): Refused {
  return { is: "refused", code: "home_unsafe", error };
}
