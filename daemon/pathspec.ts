/**
 * Whether a git command that is limited to some paths reaches a file. The pathspecs are plain: without the magic that
 * begins with a colon.
 */
import { posix } from "node:path";

/** `file` and `base` (where the command runs) are relative to the worktree; `paths` to `base`, or absolute below `top`. */
export function isWithin(file: string, paths: readonly string[], base: string, top: string): boolean {
  return paths.some(path => matches(file, path, base, top));
}

function matches(file: string, path: string, base: string, top: string): boolean {
  const whole = posix.isAbsolute(path) ? posix.relative(top, posix.normalize(path)) : posix.join(base, path);
  const spec = whole.replace(/\/+$/, "").replace(/^\.$/, "");
  if (spec === "" || file === spec || file.startsWith(`${spec}/`)) return true;
  return /[*?[\\]/.test(spec) && globOf(spec).test(file);
}

const globs = new Map<string, RegExp>();

/** Git's own: `*` stands for slashes too, and what is below a folder that matches is reached with it. */
function globOf(spec: string): RegExp {
  const known = globs.get(spec);
  if (known !== undefined) return known;
  const words = spec.replace(/\\(.)|\[([!^]?)(\]?[^\]]*)\]|[*?]|[^\\[*?]/gs, (part, escaped, not, set) => {
    if (part === "*") return ".*";
    if (part === "?") return ".";
    if (set !== undefined) return `[${not === "" ? "" : "^"}${String(set).replace(/[\\\]]/g, "\\$&")}]`;
    return String(escaped ?? part).replace(/[.+^${}()|[\]\\/*?-]/g, "\\$&");
  });
  if (globs.size >= 1000) globs.clear();
  const glob = compiled(`^(?:${words})(?:/.*)?$`);
  globs.set(spec, glob);
  return glob;
}

function compiled(source: string): RegExp {
  try {
    return new RegExp(source, "s");
  } catch {
    // A set that means nothing here may mean something to git: it counts as reaching everything.
    return /^/;
  }
}
