/** Uncommitted work: what is to be merged, what other machines changed, too, and what was wiped first, then whose work is in which file. */

import { nameOrPerson } from "../../../protocol/names.ts";
import type { MergeSideRow, WriteRow } from "../../../protocol/work.ts";
import { order } from "../../view/session-notes.ts";
import { counted, listed } from "../../view/text.ts";
import type { Rows } from "../wire.ts";
import { Agent, Empty, File, Loading, Section, TableHead } from "./parts.tsx";
import { agoText, clean, pathText, projectName, type View, type ViewProps } from "./state.ts";

// Files with uncommitted work by worktree and directory, what was written last first, and bounded.

/** Files of a directory, and of a project, that are shown; the rest are counted. */
export const shownMax = { inDirectory: 12, inProject: 300 } as const;

/** A directory of a worktree. */
interface Directory {
  /** From the top of the worktree, with `/` at its end; empty: the top. */
  readonly name: string;
  readonly files: readonly WriteRow[];
  /** Those that are not shown. */
  readonly left: readonly WriteRow[];
}

interface Worktree {
  readonly path: string;
  readonly count: number;
  readonly directories: readonly Directory[];
  /** Files of directories that are not shown. */
  readonly left: readonly WriteRow[];
}

/** Returns the wall time of the latest write, in milliseconds; 0: unknown. */
function writtenAtMs({ writers: [latest] }: WriteRow): number {
  return latest?.at ?? 0;
}

/** Returns the name of the file's directory. */
function directoryOf({ file }: WriteRow): string {
  return file.slice(0, file.lastIndexOf("/") + 1);
}

/** Returns the worktrees of a project's files, the one that was written to last first. */
export function worktreesOf(rows: readonly WriteRow[]): readonly Worktree[] {
  // The first of a group in this order is its latest.
  const latestFirst = [...rows].sort((a, b) => writtenAtMs(b) - writtenAtMs(a) || order(a.path, b.path));
  let room: number = shownMax.inProject;
  return [...groupsBy(latestFirst, row => row.worktree)].map(([path, own]) => {
    const directories: Directory[] = [];
    const left: WriteRow[] = [];
    for (const [name, inside] of groupsBy(own, directoryOf)) {
      const count = Math.min(shownMax.inDirectory, room);
      room -= Math.min(count, inside.length);
      if (count === 0) left.push(...inside);
      else directories.push({ name, files: inside.slice(0, count), left: inside.slice(count) });
    }
    return { path, count: own.length, directories, left };
  });
}

function groupsBy(
  rows: readonly WriteRow[],
  key: (row: WriteRow) => string,
): ReadonlyMap<string, readonly WriteRow[]> {
  const groups = new Map<string, WriteRow[]>();
  for (const row of rows) {
    const name = key(row);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [row]);
    else group.push(row);
  }
  return groups;
}

export const work: View = {
  path: "work",
  title: "Uncommitted work",
  topics: ["writes", "risks", "wiped"],
  Body: Work,
};

const risksShownMax = 50;
const wipedShownMax = 20;
/** Names of writers and files in a line. */
const namesMax = 3;

function Work(props: ViewProps) {
  const { state } = props;
  const rows = state.rows("writes");
  const risks = state.rows("risks");
  const wiped = state.rows("wiped");
  if (rows === null || risks === null || wiped === null) return <Loading />;
  const projects = [...new Set(rows.map(({ project }) => project))].sort(order);
  return (
    <>
      <Risks {...props} risks={risks} />
      <Wiped {...props} wiped={wiped} />
      {rows.length === 0 ? (
        <Empty
          says="No uncommitted work that Kite saw a session write. It shows here while git reports it. In a terminal:"
          command="kite whose"
        />
      ) : (
        projects.map(project => (
          <Files
            key={project}
            {...props}
            project={project}
            rows={rows.filter(row => row.project === project)}
          />
        ))
      )}
    </>
  );
}

/** Files with work in two worktrees. */
function Risks({ risks, state, page }: ViewProps & { readonly risks: readonly Rows["risks"][] }) {
  if (risks.length === 0) return null;
  return (
    <Section title="To be merged" count={risks.length}>
      <p class="dim">
        Changed in two worktrees. Whether they merge without a conflict: <code>kite risk</code>
      </p>
      <ul class="rows">
        {risks.slice(0, risksShownMax).map(({ file, project, sides }) => (
          <li key={`${file}\n${sides.map(({ worktree }) => worktree).join("\n")}`} class="dispute">
            {state.project === null ? <span class="dim">{projectName(project)}</span> : null}
            <File path={`${sides[0].worktree}/${file}`} text={clean(file)} state={state} page={page} />
            {sides.map(side => (
              <Side key={side.worktree} side={side} page={page} />
            ))}
          </li>
        ))}
      </ul>
      <Left count={risks.length - risksShownMax} noun="file" />
    </Section>
  );
}

function Side({ side, page }: { readonly side: MergeSideRow; readonly page: ViewProps["page"] }) {
  const { name, worktree, branch } = side;
  return (
    <span>
      <Agent name={name} id={side.id} agent={side.agent} page={page} />
      {` in ${folderName(worktree)}/`}
      {branch === null ? "" : ` (${clean(branch)})`}
    </span>
  );
}

/** What was wiped in the last hour and is still lost, with the command that brings it back. */
function Wiped({ wiped, state, page }: ViewProps & { readonly wiped: readonly Rows["wiped"][] }) {
  if (wiped.length === 0) return null;
  return (
    <Section title="Wiped lately" count={wiped.length}>
      <p class="dim">Kite kept it. The command brings it back.</p>
      <ul class="rows">
        {wiped.slice(0, wipedShownMax).map(row => (
          <li key={row.wipe}>
            <code>kite rescue restore {clean(row.wipe)}</code>
            <span>{wipedText(row)}</span>
            <span>
              {row.by === null ? null : (
                <>
                  <Agent name={row.by.name} id={row.by.id} agent={row.by.agent} page={page} />
                  {": "}
                </>
              )}
              <code>{clean(row.command)}</code>
            </span>
            <span class="dim">{agoText(state, row.at)}</span>
          </li>
        ))}
      </ul>
      <Left count={wiped.length - wipedShownMax} noun="wipe" command="kite rescue" />
    </Section>
  );
}

/** Returns which files a wipe took, and whose. */
function wipedText({ files, more }: Rows["wiped"]): string {
  const shown = files.slice(0, namesMax);
  const names = shown.map(({ file, lines }) => {
    const of = lines === null ? "" : `${counted(lines, "line")} of `;
    return `${of}${clean(file)}`;
  });
  // At further files the daemon did not look.
  const atMost = more === 0 ? "" : "up to ";
  const rest = files.length - shown.length + more;
  const whose = new Set(
    files.flatMap(({ writers: [latest] }) => (latest === undefined ? [] : [latest.name])),
  );
  const of = whose.size === 0 ? "" : `; work of ${namesText([...whose])}`;
  return `${names.join(", ")}${rest === 0 ? "" : ` and ${atMost}${counted(rest, "other file")}`}${of}`;
}

interface FilesProps extends ViewProps {
  readonly project: string;
  readonly rows: readonly WriteRow[];
}

/** The files of a project by worktree. */
function Files({ project, rows, state, page }: FilesProps) {
  const shared = rows.filter(({ writers }) => new Set(writers.map(({ id }) => id)).size > 1).length;
  const unknown = rows.filter(row => row.state === "unknown").length;
  return (
    <Section title={projectName(project)} count={rows.length}>
      {unknown === 0 ? null : (
        <p class="needs">
          {`Git did not report the state of ${counted(unknown, "file")} in time. `}
          {unknown === 1 ? "It may be committed already." : "They may be committed already."}
        </p>
      )}
      {worktreesOf(rows).map(worktree => (
        <WorktreeFiles key={worktree.path} worktree={worktree} state={state} page={page} />
      ))}
      <p class="dim">
        {shared === 0
          ? null
          : `${counted(shared, "file")} with work of several sessions: agree with them before you commit. `}
        To commit only one session's files: <code>kite whose</code>
      </p>
    </Section>
  );
}

function WorktreeFiles({ worktree, ...props }: ViewProps & { readonly worktree: Worktree }) {
  const { path, count, directories, left } = worktree;
  return (
    <>
      <h3>
        <code>{pathText(path, { viewer: props.state.viewer, project: null })}</code>
        <span class="count"> {counted(count, "file")}</span>
      </h3>
      <table class="work">
        <TableHead columns={["File", "Written by", "State", "Lock", "Last write"]} />
        {directories.map(directory => (
          <DirectoryFiles key={directory.name} {...props} directory={directory} />
        ))}
      </table>
      {left.length === 0 ? null : (
        <p class="dim">
          {`and ${leftText(left)}, in other directories: `}
          <code>kite whose</code>
        </p>
      )}
    </>
  );
}

function DirectoryFiles({ directory, state, page }: ViewProps & { readonly directory: Directory }) {
  const { name, files, left } = directory;
  return (
    <tbody>
      <tr class="folder">
        <th scope="rowgroup" colSpan={5}>
          <code>{name === "" ? "./" : clean(name)}</code>
        </th>
      </tr>
      {files.map(row => (
        <tr key={row.path}>
          <th scope="row">
            <File path={row.path} text={clean(row.file.slice(name.length))} state={state} page={page} />
          </th>
          <td>
            {row.writers.map((writer, n) => (
              <span key={`${writer.id}/${writer.agent}`}>
                {n === 0 ? "" : ", "}
                <Agent name={writer.name} id={writer.id} agent={writer.agent} page={page} />
                {writer.live ? "" : " (ended)"}
              </span>
            ))}
          </td>
          <td class={row.state === "changed" ? "" : row.state}>{row.state}</td>
          <td>
            {row.holder === null ? null : (
              <>
                {"held by "}
                <Agent name={row.holder.name} id={row.holder.id} agent={row.holder.agent} page={page} />
              </>
            )}
          </td>
          <td>{row.writers.length === 0 ? null : agoText(state, writtenAtMs(row))}</td>
        </tr>
      ))}
      {left.length === 0 ? null : (
        <tr>
          <td colSpan={5} class="dim">
            and {leftText(left)} in this directory
          </td>
        </tr>
      )}
    </tbody>
  );
}

function Left({
  count,
  noun,
  command,
}: {
  readonly count: number;
  readonly noun: string;
  readonly command?: string;
}) {
  if (count <= 0) return null;
  return (
    <p class="dim">
      and {counted(count, noun)} more
      {command === undefined ? null : (
        <>
          {": "}
          <code>{command}</code>
        </>
      )}
    </p>
  );
}

/** Returns how many files are left out, and whose work is in them. */
function leftText(rows: readonly WriteRow[]): string {
  const names = [
    ...new Set(rows.flatMap(({ writers: [latest] }) => (latest === undefined ? [] : [latest.name]))),
  ];
  return `${counted(rows.length, "more file")} of ${namesText(names)}`;
}

function namesText(names: readonly string[]): string {
  return listed(
    names.slice(0, namesMax).map(name => clean(nameOrPerson(name))),
    names.length - namesMax,
  );
}

function folderName(path: string): string {
  return clean(path.split("/").filter(Boolean).at(-1) ?? path);
}
