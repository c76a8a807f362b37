import { join } from "node:path";
import { searchPath } from "../../protocol/paths.ts";

/**
 * The launcher: what a hook client runs where a session or a turn begins and no daemon listens. It ends when a daemon
 * answers. It lies beside the clients and knows by heart what a daemon needs, so that nothing of the hook's
 * surroundings (keys, the session's own variables) gets into it. `kite up` does the rest: it starts one daemon,
 * however many ask.
 */
export interface LauncherOptions {
  readonly home: string;
  /** The Node that runs it: the link beside the clients. */
  readonly node: string;
  /** Kite's own program. Where it was moved away, nothing is started. */
  readonly kite: string;
  /** Of whoever installs. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** As client/launch.ts has them, without Kite's own variables: those of one shell are not every hook's. */
const inherited = "PATH HOME USER LOGNAME SHELL LANG TZ TMPDIR XDG_RUNTIME_DIR".split(" ");

export function launcherPath(bin: string): string {
  return join(bin, "start");
}

/** The launcher's text, for any POSIX shell. */
export function launcherText({ home, node, kite, env }: LauncherOptions): string {
  const clean: LauncherOptions["env"] = { ...env, PATH: searchPath(env["PATH"]) };
  const kept = inherited.flatMap(name => (clean[name] ? [quoted(`${name}=${clean[name]}`)] : []));
  const down = quoted(join(home, "down"));
  const environment = ["/usr/bin/env -i", ...kept, quoted(`KITE_HOME=${home}`)].join(" \\\n  ");
  return `#!/bin/sh
# Written by kite install. Starts Kite's daemon for a hook that found none; ends when it answers.
# Not after kite down (which kite looks at too, as often as it must), and not in CI unless KITE_AUTOSTART is 1.
[ -e ${down} ] && exit 0
case "\${CI:-false}" in false | 0) ;; *) [ "\${KITE_AUTOSTART:-}" = 1 ] || exit 0 ;; esac
[ -f ${quoted(kite)} ] || exit 0
exec ${environment} \\
  ${quoted(node)} ${quoted(kite)} up --unless-down </dev/null >/dev/null 2>&1
`;
}

export function mcpPath(bin: string): string {
  return join(bin, "mcp");
}

/** What the agent's client starts for Kite's tools; its parent stays the client, since each step becomes the next. */
export function mcpText({ home, node, kite }: Omit<LauncherOptions, "env">): string {
  return `#!/bin/sh
# Written by kite install. Kite's tools for agents, over standard input and output.
if [ ! -f ${quoted(kite)} ]; then
  echo "kite: its program was moved away; run kite install again" >&2
  exit 1
fi
exec /usr/bin/env -u NODE_OPTIONS -u NODE_EXTRA_CA_CERTS ${quoted(`KITE_HOME=${home}`)} \\
  ${quoted(node)} ${quoted(kite)} mcp
`;
}

/** One word for the shell, whatever is in it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
