/**
 * What a push would run or follow of the repository's own git configuration: any agent could have written it. None of it counts
 * unless a person trusted it as it is. What a person's own configuration names counts as always.
 */
import { existsSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { type Git, must, namesIn } from "../merge/git.ts";
import type { Programs } from "../merge/programs.ts";

/** Settings that name a program, lead a push elsewhere, or open what is on its way. */
const isOfPush =
  /^(?:core\.(?:sshcommand|gitproxy|askpass|alternaterefscommand)|ssh\.variant|credential\..+|url\..+|https?\..+|protocol\..+|gpg\..+|remote\..+\.(?:uploadpack|receivepack|vcs|proxy|proxyauthmethod|serveroption)|push\.(?:gpgsign|pushoption|recursesubmodules|negotiate)|remote\..+\.(?:push|mirror))$/s;

/** Returns these settings of the repository and its worktrees, with all values of each; hooks and local remotes among them. */
export async function pushSettings(
  git: Git,
  folders: readonly string[],
  remote: string | null,
): Promise<Programs> {
  const found = new Map<string, Set<string>>();
  const add = (key: string, value: string) => found.set(key, (found.get(key) ?? new Set()).add(value));
  for (const cwd of [null, ...folders]) {
    const at = cwd === null ? {} : { cwd };
    const listed = namesIn(await must(git, ["config", "--list", "--show-scope", "-z"], at));
    for (let n = 0; n + 1 < listed.length; n += 2) {
      const [scope, entry = ""] = listed.slice(n, n + 2);
      if (scope !== "local" && scope !== "worktree") continue;
      const [key = "", ...value] = entry.split("\n");
      if (isOfPush.test(key)) add(key, value.join("\n"));
      // A remote on this machine runs its own hooks, with the person's rights.
      if (remote !== null && isRemoteUrl(key, remote) && !isElsewhere(value.join("\n")))
        add(key, value.join("\n"));
    }
  }
  return new Map([...found].map(([key, values]) => [key, [...values].join("\n")]));
}

function isRemoteUrl(key: string, remote: string): boolean {
  return key === `remote.${remote}.url` || key === `remote.${remote}.pushurl`;
}

/** Whether a remote is on another machine, and is reached by what git itself brings. */
function isElsewhere(url: string): boolean {
  if (url.includes("::") || url.startsWith("-")) return false;
  if (/^(?:https?|git|ssh|git\+ssh|ssh\+git):\/\//i.test(url)) return true;
  return /^(?:[\w.-]+@)?[\w.-]+:(?!\/\/)/.test(url);
}

/** Whether the repository has a hook that git would run before a push: Kite runs none, and so does not push. */
export async function hasPushHook(git: Git, cwd: string, gitDir: string): Promise<boolean> {
  // What the command itself sets does not count here.
  const { code, out } = await git(["config", "--null", "--show-origin", "--get-all", "core.hooksPath"], {
    cwd,
  });
  const values = code === 0 ? namesIn(out) : [];
  const folders = values.filter(
    (_, n) => n % 2 === 1 && values[n - 1]?.startsWith("command line:") === false,
  );
  const folder = folders.at(-1) ?? join(gitDir, "hooks");
  const path = folder.startsWith("~/") ? null : isAbsolute(folder) ? folder : join(cwd, folder);
  return path === null || existsSync(join(path, "pre-push"));
}
