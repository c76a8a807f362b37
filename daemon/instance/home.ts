import { lstatSync, mkdirSync } from "node:fs";
import { resolve } from "node:path";

/** A start that cannot be, with what to do. */
export interface Refused {
  readonly is: "refused";
  readonly code: "home_unsafe" | "socket_path_long" | "lock_unavailable" | "not_a_socket";
  readonly error: string;
}

/**
 * Makes sure that Kite's directory is a directory of this user that nobody else may enter, and creates it if
 * it is not there. It is never changed to fit: whoever opened it to others should learn of it, and it may not
 * be Kite's at all.
 */
export function openHome(path: string): Refused | null {
  // Without a slash at its end: with one, a link would be followed.
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
        `${home} is open to other users (mode ${mode}); if it is Kite's, run: chmod 700 ${quoted(home)}`,
      );
    }
    return null;
  } catch (error) {
    // The system's own words are the best account of why a directory cannot be made.
    const reason = error instanceof Error ? error.message : String(error);
    return unsafe(
      `${home} cannot be made or looked at (${reason}); set KITE_HOME to a directory you can write to`,
    );
  }
}

function unsafe(error: string): Refused {
  return { is: "refused", code: "home_unsafe", error };
}

/** A path as a word of a shell command. */
function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
