/** The programs in Kite's `bin` folder that start the daemon and the tools. */
import { join } from "node:path";
import { searchPath } from "../../protocol/paths.ts";
import { shellWord } from "../../protocol/text.ts";

/**
 * The launcher: the program that a hook client runs if a session or turn begins and no daemon listens. It ends when a
 * daemon answers. It lies beside the clients and contains the environment that a daemon needs, so that no variable of
 * the hook (keys, the session's own) reaches the daemon. It runs `kite up`, which starts one daemon even if many
 * launchers run.
 */
export interface LauncherOptions {
  readonly home: string;
  /** The Node that runs the daemon: the link beside the clients. */
  readonly node: string;
  /** Kite's own program. If it was moved, the launcher starts nothing. */
  readonly kite: string;
  /** Environment of the installing process. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The variables of client/launch.ts without Kite's own, because one shell's settings must not apply to every hook. */
const inherited = "PATH HOME USER LOGNAME SHELL LANG TZ TMPDIR XDG_RUNTIME_DIR".split(" ");

export function launcherPath(bin: string): string {
  return join(bin, "start");
}

/** Returns the launcher's text, for any POSIX shell. */
export function launcherText({ home, node, kite, env }: LauncherOptions): string {
  const clean: LauncherOptions["env"] = { ...env, PATH: searchPath(env["PATH"]) };
  const kept = inherited.flatMap(name => (clean[name] ? [shellWord(`${name}=${clean[name]}`)] : []));
  const down = shellWord(join(home, "down"));
  const environment = ["/usr/bin/env -i", ...kept, shellWord(`KITE_HOME=${home}`)].join(" \\\n  ");
  return `#!/bin/sh
# Written by kite install. Starts Kite's daemon for a hook that found none; ends when it answers.
# Not after kite down (which kite looks at too, as often as it must), and not in CI unless KITE_AUTOSTART is 1.
[ -e ${down} ] && exit 0
case "\${CI:-false}" in false | 0) ;; *) [ "\${KITE_AUTOSTART:-}" = 1 ] || exit 0 ;; esac
[ -f ${shellWord(kite)} ] || exit 0
exec ${environment} \\
  ${shellWord(node)} ${shellWord(kite)} up --unless-down </dev/null >/dev/null 2>&1
`;
}

export function mcpPath(bin: string): string {
  return join(bin, "mcp");
}

/** Returns the program that starts Kite's tools. Its steps use `exec`, so its parent stays the agent's client. */
export function mcpText({ home, node, kite }: Omit<LauncherOptions, "env">): string {
  return `#!/bin/sh
# Written by kite install. Kite's tools for agents, over standard input and output.
if [ ! -f ${shellWord(kite)} ]; then
  echo "kite: its program was moved away; run kite install again" >&2
  exit 1
fi
exec /usr/bin/env -u NODE_OPTIONS -u NODE_EXTRA_CA_CERTS ${shellWord(`KITE_HOME=${home}`)} \\
  ${shellWord(node)} ${shellWord(kite)} mcp
`;
}
