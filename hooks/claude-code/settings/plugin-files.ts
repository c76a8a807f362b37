/** The files of Kite's plugin and of the marketplace around it. */
import { variable } from "../../install/ours.ts";
import { commandTexts, readme, skill } from "./plugin-texts.ts";
import { portableGroups } from "./portable.ts";

const description =
  "Coordinates the sessions that work in one project: file locks at the edit, tasks, messages.";

export interface PluginVersion {
  readonly version: string;
  /** The person's Kite is where KITE_HOME says, not in the usual folder. */
  readonly hasOwnHome: boolean;
}

/** Returns each file's text by its name, relative to the folder. The same version has the same files. */
export function pluginFiles({ version, hasOwnHome }: PluginVersion): ReadonlyMap<string, string> {
  const about = { name: "kite", version, description };
  const author = { name: "Kite" };
  const hooks: Record<string, unknown[]> = {};
  for (const [event, group] of portableGroups({ origin: "plugin", everyEvent: false })) {
    hooks[event] = [...(hooks[event] ?? []), group];
  }
  // The client puts in the variable. It leaves this server out if the person's own settings have the same command.
  const home = hasOwnHome ? variable("KITE_HOME") : `${variable("HOME")}/.kite`;
  const server = { type: "stdio", command: `${home}/bin/mcp`, args: [] };
  return new Map([
    [
      ".claude-plugin/marketplace.json",
      json({
        name: "kite",
        owner: author,
        metadata: { description },
        plugins: [{ ...about, source: "./kite" }],
      }),
    ],
    ["kite/.claude-plugin/plugin.json", json({ ...about, author, license: "MIT" })],
    ["kite/hooks/hooks.json", json({ description, hooks })],
    ["kite/.mcp.json", json({ mcpServers: { kite: server } })],
    ["kite/README.md", readme],
    ["kite/skills/kite/SKILL.md", skill],
    ...Object.entries(commandTexts).map(([name, text]) => [`kite/commands/${name}.md`, text] as const),
  ]);
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
