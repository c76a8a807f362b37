#!/usr/bin/perl
# The hook client for machines that have perl: it does what hook.ts does, without Node's start-up time. It forwards one
# event from standard input to the daemon and prints the answer. It decides nothing. If anything fails, it exits 0 and
# the agent continues; only an answer of the daemon makes it refuse anything.
# `perl -T hook.pl MS`: it spends at most MS milliseconds, rounded up to whole seconds because alarm needs them.
# `perl -T hook.pl MS wake`: the hook beside a Stop. The agent client does not wait; exit code 2 wakes the session.
# `perl -T hook.pl MS '' plugin|shared`: an entry that other machines have too. It leaves the event to one of this machine.
# `perl -T hook.pl MS '' '' CLIENT`: an entry of another agent client than Claude Code, by its name.
# `perl -T hook.pl MS statusline`: not a hook but the status line; standard input is what the agent client gives that.
#
# It runs at every edit, so it loads no module (the build removes strict). Its numbers for Socket, Fcntl and Errno are
# those of Linux, else of macOS and the BSDs. -T makes perl ignore PERL5OPT and PERL5LIB. SIGTERM ends it at once; the
# closed connection tells the daemon that no client waits any more.
use strict;

# The build fills in the numbers of protocol/limits.ts.
our %limits;

my @forwarded = qw(CLAUDE_PID CLAUDE_PROJECT_DIR CLAUDE_CODE_SESSION_ATTENDED CLAUDE_CODE_ENTRYPOINT HOME KITE_SPAWN);
my $unreached = 'Kite is not responding; edits in this session are not coordinated. Run `kite doctor`.';
my $hostless = 'Kite on the host of this container does not respond; edits in this session are not coordinated. Run `kite up` there.';
my $lost = 'Kite stays down: its journal is missing. Edits in this session are not coordinated. Run `kite doctor`.';

my $wakes = ($ARGV[1] // '') eq 'wake';
my $is_line = ($ARGV[1] // '') eq 'statusline';
# The agent client, if it is not Claude Code; no other form can be a name.
my (undef, undef, undef, $named) = @ARGV;
my ($client) = ($named // '') =~ /^([a-z-]{1,40})\z/;
my ($home, $event, $started, $asked, $parked, $lost_at) = ('', '', 0, 0, 0, 0);
my $patience_ms = $limits{firstByteMs};
$SIG{__DIE__}  = sub { exit 0 };
$SIG{__WARN__} = sub { };
$SIG{PIPE}     = 'IGNORE';
$SIG{ALRM}     = sub { let_go($asked) };

leave_off() if ($ENV{KITE} // '') eq 'off';
# Under -T only text that a pattern captured may name a file to write.
($home) = ($ENV{KITE_HOME} || ($ENV{HOME} || (getpwuid $<)[7]) . '/.kite') =~ m{^(/.*)}s or exit 0;
my $socket = "$home/kite.sock";
my $home_mode = mode_if_mine($home);
exit 0 if ($home_mode & 0170000) != 0040000 || $home_mode & 0022;
leave_off() if is_off();
exit 0 if ($ARGV[2] // '') ne '' && is_forwarded_elsewhere();

my ($ms) = ($ARGV[0] // '') =~ /^([1-9]\d{0,8})/;
alarm int((($ms || $limits{hookTurnBudgetMs}) + 999) / 1_000);
$event = read_event();
let_go() if !is_socket() && !(start_daemon() && is_socket());
my $others_failed = lstat "$home/hook-failures";
let_go() if $others_failed && is_paused();
exit 0 if !is_one_object($event);
my $request = request_line($event);
exit 0 if length $request > $limits{hookLineBytes};
$asked = 1;

# Connects again until there is an answer. The daemon writes a blank line at once when it parks the request; from then
# on the hook reconnects after a lost connection and sends the same bytes. Before a tool it also reconnects if the
# daemon accepted and closed the connection silently: that daemon lives, but has no free descriptor.
while (1) {
    my $why = attempt($request);
    next if $why eq 'absent' && start_daemon();
    my $is_full = $why eq 'full' && !$parked && is_before_tool();
    let_go($why eq 'silent' || $why eq 'broken')
        if !($parked || $is_full) || $why eq 'broken' || $why eq 'refused';
    $lost_at ||= time;
    # In whole seconds, rounded up, because perl's own clock counts seconds.
    let_go($why eq 'silent' || $is_full)
        if time - $lost_at
        >= ($is_full && $patience_ms == $limits{hookBriefMs} ? $patience_ms : $limits{reconnectMs}) / 1_000;
    select undef, undef, undef, $limits{hookRetryMs} / 1_000;
}

# Leaves the event alone; the status line says why it shows nothing else.
sub leave_off {
    print "kite: off\n" if $is_line;
    exit 0;
}

# Returns whether `kite off` is in force: its file is empty, or valid until its own modification time.
sub is_off {
    my ($size, $until) = (lstat "$home/off")[7, 9];
    return -f _ && ($size == 0 || $until > time);
}

sub is_socket {
    return (mode_if_mine($socket) & 0170000) == 0140000;
}

# Returns the file's mode without following links; 0 if it does not exist or another user owns it.
sub mode_if_mine {
    my ($path) = @_;
    my ($mode, $uid) = (lstat $path)[2, 4];
    return defined $mode && $uid == $< ? $mode : 0;
}

# Returns all of standard input, up to a little more than a request's bound.
sub read_event {
    my $text = '';
    binmode STDIN;
    1 while length $text <= $limits{hookLineBytes} && sysread STDIN, $text, 65_536, length $text;
    return $text;
}

# Returns whether the text is one whole object by its strings and brackets, so that it cannot close the request early.
# Any other fault makes the whole request invalid JSON, and the daemon refuses it.
sub is_one_object {
    my ($rest) = @_;
    return 0 if !utf8::decode(my $copy = $rest);
    # Removes the relevant escapes first, then strings: a pattern for both at once fails on long strings.
    $rest =~ s/\\["\\]//g;
    $rest =~ s/"[^"\x00-\x1f]*"//g;
    return 0 if $rest =~ /["\x00-\x08\x0b\x0c\x0e-\x1f]/ || $rest !~ /^[ \t\r\n]*\{/;
    return 0 if substr($rest, rindex($rest, '}') + 1) =~ /[^ \t\r\n]/;
    $rest =~ tr/{}[]//cd;
    $rest = substr $rest, 1, -1;
    for (1 .. $limits{hookNestingMax}) { last if $rest !~ s/(?:\{\}|\[\])+//g }
    return $rest eq '';
}

# Returns the request with the payload as received. Line breaks occur only between tokens, where a space is equivalent.
sub request_line {
    my ($payload) = @_;
    $payload =~ tr/\r\n/  /;
    my @env;
    for my $name (@forwarded) {
        my $value = $ENV{$name};
        next if !defined $value || length $value > $limits{pathBytes} || !utf8::decode(my $copy = $value);
        push @env, qq("$name":) . json_text($value);
    }
    my $env = join ',', @env;
    my $where = is_elsewhere() ? mounts() : '';
    my $from = defined $client ? qq(,"client":"$client") : '';
    my $wake = $wakes ? ',"wake":true' : $is_line ? ',"statusLine":true' : $from;
    return qq({"type":"hook","event":$payload,"env":{$env},"ppid":${\getppid},"reply":"raw"$wake$where}\n);
}

sub json_text {
    my ($text) = @_;
    $text =~ s/(["\\\x00-\x1f])/sprintf '\u%04x', ord $1/ge;
    return qq("$text");
}

# Returns whether the daemon of this directory runs, or ran, in another namespace: on the host of this container.
sub is_elsewhere {
    my $daemons = readlink "$home/namespaces";
    return defined $daemons && $daemons ne namespaces();
}

sub namespaces { return join ' ', map { readlink "/proc/self/ns/$_" } 'mnt', 'pid' }

# Connects, sends the request and executes the answer. Returns only without an answer, with the reason: "absent", "full"
# (closed silently), "closed", "silent", "restarting", "refused" or "broken".
sub attempt {
    my ($line) = @_;
    my $linux = $^O eq 'linux';
    # AF_UNIX, SOCK_STREAM; F_SETFL, O_NONBLOCK; struct sockaddr_un.
    socket my $daemon, 1, 1, 0 or return 'absent';
    binmode $daemon;
    fcntl $daemon, 4, $linux ? 2048 : 4 or return 'absent';
    connect $daemon, pack $linux ? 'S Z*' : 'x C Z*', 1, $socket or return 'absent';

    my $first_byte_s = $patience_ms / 1_000;
    for (my $sent = 0; $sent < length $line;) {
        is_ready($daemon, 1, $first_byte_s) or return 'silent';
        my $count = syswrite $daemon, $line, length $line, $sent or return 'full';
        $sent += $count;
    }
    my $reply = '';
    for (my $patience = $first_byte_s;; $patience = undef) {
        is_ready($daemon, 0, $patience) or return 'silent';
        sysread $daemon, $reply, 65_536, length $reply or return defined $patience ? 'full' : 'closed';
        end_pause() if $others_failed;
        while ((my $end = index $reply, "\n") >= 0) {
            my $head = substr $reply, 0, $end;
            if ($head =~ /^\s*$/) { ($parked, $lost_at) = (1, 0) }
            elsif ($head =~ /^(\d{1,3}) (\d{1,7}) (\d{1,7}) (\d{1,7})$/) {
                return 'broken' if $1 > 255 || $2 + $3 + $4 > $limits{lineBytes};
                last if length($reply) - $end - 1 < $2 + $3 + $4;
                finish($1, unpack "x$end x a$2 a$3 a$4", $reply);
            }
            elsif ($head =~ /^\{"ok":false,/) { return $head =~ /"code":"restarting"/ ? 'restarting' : 'refused' }
            elsif ($head !~ /^\{"type":"event",/) { return 'broken' }
            substr $reply, 0, $end + 1, '';
        }
        return 'broken' if length $reply > 2 * $limits{lineBytes};
    }
}

# Waits until a handle can be read or written and returns whether it can; without seconds it waits without end.
sub is_ready {
    my ($handle, $to_write, $seconds) = @_;
    vec(my $bits = '', fileno $handle, 1) = 1;
    my ($read, $write) = $to_write ? (undef, $bits) : ($bits, undef);
    return 0 < select $read, $write, undef, $seconds;
}

# Executes the daemon's answer, and exits.
sub finish {
    my ($code, $output, $error, $env) = @_;
    alarm 0;
    if ($env ne '') {
        # Separate statements, because foreign data taints its whole statement.
        my ($env_file) = ($ENV{CLAUDE_ENV_FILE} // '') =~ /^(.+)/s;
        if ($env_file && open my $file, '>>', $env_file) { put($file, $env) }
    }
    put(\*STDOUT, $output);
    put(\*STDERR, $error);
    exit $code;
}

sub put {
    my ($handle, $bytes) = @_;
    binmode $handle;
    for (my $put = 0; $put < length $bytes;) {
        is_ready($handle, 1);
        # Nothing is written once the reader has closed its end.
        my $count = syswrite $handle, $bytes, length $bytes, $put or return;
        $put += $count;
    }
}

# Compiles the rarely used functions below on their first call: compiling them takes as long as starting perl.
sub AUTOLOAD {
    my $name = our $AUTOLOAD;
    my ($rest) = join('', <DATA>) =~ /(.*)/s;
    eval "$rest; 1" && defined &$name or exit 0;
    goto \&$name;
}

__DATA__

# Returns the field with what to say of this process's mounts: the daemon has other paths.
sub mounts {
    my $pairs = $ENV{KITE_MOUNTS} // '';
    $pairs = '' if length $pairs > $limits{pathBytes} || !utf8::decode(my $copy = $pairs);
    my @inside = map { /^\s*(\/[^=]*?)\/*\s*(?:=|\z)/ ? $1 || '/' : () } split /:/, $pairs, $limits{mountPairsMax} + 1;
    my %seen;
    for my $path (readlink '/proc/self/cwd', @inside) {
        next if length $path > $limits{pathBytes} || !utf8::decode(my $copy = $path);
        my ($device, $inode) = stat $path;
        $seen{$path} = "$device:$inode" if defined $inode;
    }
    my $seen = join ',', map { json_text($_) . qq(:"$seen{$_}") } keys %seen;
    my $table = '';
    if (open my $file, '<', '/proc/self/mountinfo') { 1 while sysread $file, $table, 65_536, length $table }
    $table = '' if length $table > $limits{mountTableBytes} || !utf8::decode(my $copy = $table);
    my ($namespaces, $text) = (json_text(namespaces()), json_text($table));
    my $named = $pairs eq '' ? '' : ',"pairs":' . json_text($pairs);
    return qq(,"mounts":{"namespaces":$namespaces,"table":$text$named,"seen":{$seen}});
}

# If a session or turn begins and no daemon listens, runs the launcher of `kite install` once; returns 0 otherwise. The
# launcher ends when the daemon answers. If that exceeds the hook's time, the hook ends and the launcher continues.
sub start_daemon {
    my $start = "$home/bin/start";
    return 0 if $started || !is_beginning() || !-x $start;
    $started = 1;
    my $pid = fork;
    return 0 if !defined $pid;
    if (!$pid) {
        setpgrp 0, 0;
        $SIG{PIPE} = 'DEFAULT';
        # The variables that -T distrusts; the launcher sets its own.
        delete @ENV{qw(IFS CDPATH ENV BASH_ENV)};
        $ENV{PATH} = '/usr/bin:/bin';
        open STDIN,  '<', '/dev/null';
        open STDOUT, '>', '/dev/null';
        open STDERR, '>', '/dev/null';
        exec {$start} $start or exit 1;
    }
    waitpid $pid, 0;
    return 1;
}

# Returns whether another entry forwards the event: one that names this Kite's program in the person's settings, or, if
# this entry is a plugin's, the project's committed one. So each event has one hook, however often Kite is installed.
sub is_forwarded_elsewhere {
    my $project = $ENV{CLAUDE_PROJECT_DIR} // '.';
    my @folders = $project;
    # The client applies a repository's private settings in its worktrees too.
    push @folders, $1 if start_of("$project/.git") =~ m{^gitdir: (.+)/\.git/worktrees/[^/]+\s*$};
    my $user = $ENV{CLAUDE_CONFIG_DIR} || ($ENV{HOME} || (getpwuid $<)[7]) . '/.claude';
    my $committed = start_of("$project/.claude/settings.json");
    my @texts = (start_of("$user/settings.json"), map({ start_of("$_/.claude/settings.local.json") } @folders));
    return 1 if grep { index($_, "$home/bin/hook.") >= 0 } @texts, $committed;
    return $ARGV[2] eq 'plugin' && index($committed, '/.kite}/bin/hook') >= 0;
}

# Returns a regular file's text, up to a bound; '' if it cannot be read.
sub start_of {
    my ($path) = @_;
    my $text = '';
    -f $path && open my $file, '<', $path or return '';
    1 while length $text < $limits{settingsBytes} && sysread $file, $text, 65_536, length $text;
    return $text;
}

# Three failures within a minute pause hooks for half a minute, unless the socket is newer than the failures. A hook
# before a tool still asks, or the tool would ignore other sessions' locks; after three such failures it waits briefly.
sub is_paused {
    # Opens only a regular file: a pipe would block the hook.
    lstat "$home/hook-failures";
    -f _ && open my $file, '<', "$home/hook-failures" or return 0;
    sysseek $file, -1_100, 2;
    sysread $file, my $lines, 1_100;
    return 0 if !is_recent($lines =~ /^(\d{10})(?: tool)?$/mg);
    return 1 if !is_before_tool();
    $patience_ms = $limits{hookBriefMs} if is_recent($lines =~ /^(\d{10}) tool$/mg);
    return 0;
}

# Returns whether the latest failures require a pause.
sub is_recent {
    return 0 if @_ < $limits{hookFailuresMax};
    my ($first, $last) = @_[-$limits{hookFailuresMax}, -1];
    my $age = time - $last;
    return $last - $first <= $limits{hookFailuresWindowMs} / 1_000
        && (lstat $socket)[9] <= $last
        && $age >= 0
        && $age < $limits{hookPauseMs} / 1_000;
}

# Ends the pause of all hooks, because the daemon answers.
sub end_pause {
    unlink "$home/hook-failures";
    ($others_failed, $patience_ms) = (0, $limits{firstByteMs});
}

# Exits without an answer. If it `failed`, that counts towards a pause, unless the hook beside it counts it, it
# waited only briefly, or it is the status line. Tells the person once per session that an edit runs without coordination,
# or at once that the journal is missing, but not after `kite down`. Leaves the ids of an end for the next daemon.
sub let_go {
    my ($failed) = @_;
    alarm 0;
    my $failures = "$home/hook-failures";
    my $counts = $failed && !$wakes && !$is_line && $patience_ms != $limits{hookBriefMs};
    $counts &&= !lstat $failures || -f _;
    if ($counts && open my $file, (-s _ // 0) < 1_024 ? '>>' : '>', $failures) {
        put($file, sprintf "%010d%s\n", time, is_before_tool() ? ' tool' : '');
    }
    leave_end() if !$wakes && !$is_line;
    # The daemon refuses to begin anew without its journal.
    my $is_lost = (-e "$home/store.json" || -e "$home/daemon.json") && !-e "$home/journal";
    my $tells = is_edit() || $is_lost && is_beginning();
    if ($tells && !-e "$home/down" && $event =~ /"session_id"\s*:\s*"([\w-]{1,100})"/ && is_untold($1)) {
        my $message = is_elsewhere() ? $hostless : $is_lost ? $lost : $unreached;
        put(\*STDOUT, qq({"systemMessage":"$message"}\n));
    }
    exit 0;
}

# Leaves a line for the next daemon if the event ends a call, a turn or a session. At the bound the older half goes.
sub leave_end {
    my $ids = ids_of_end() or return;
    # Without this module, the beginning of the second: what began in it does not count as ended.
    my $seconds = do { local $SIG{__DIE__}; eval { require Time::HiRes; Time::HiRes::time() } } || time;
    (my $at = sprintf '%.3f', $seconds) =~ tr/.//d;
    # Another client may have been started in a shell of Claude Code.
    my $pid = !defined $client && ($ENV{CLAUDE_PID} // '') =~ /^([1-9]\d{0,9})\z/ ? $1 : getppid;
    my $from = defined $client ? qq(,"client":"$client") : '';
    my $line = qq({"at":$at,"pid":$pid,"event":{$ids}$from}\n);
    my $ends = "$home/unheard-ends";
    return if lstat $ends && !-f _;
    rename $ends, "$ends.old" if ((lstat $ends)[7] // 0) + length $line > $limits{unheardEndsBytes} / 2;
    if (open my $file, '>>', $ends) { put($file, $line) }
}

# Returns the ids at the event's own top level, as JSON; '' if it ends nothing, or one of them cannot be an id. No text
# of a tool or a person poses as one: whatever cannot be an id is emptied first, then everything nested goes.
sub ids_of_end {
    my $kinds = 'PostToolUse|PostToolUseFailure|Stop|SubagentStop|StopFailure|Interrupt|SessionEnd|AfterTool|AfterAgent';
    return '' if $event !~ /"hook_event_name"\s*:\s*"(?:$kinds)"/ || !is_one_object($event);
    my $rest = $event;
    $rest =~ s/\\["\\]/ /g;
    $rest =~ s/"(?:([\w.:\@-]{1,$limits{idBytes}})"|[^"]*")/"$1"/g;
    $rest =~ s/^\s*\{|\}\s*$//g;
    1 while $rest =~ s/\{[^{}\[\]]*\}|\[[^{}\[\]]*\]/0/g;
    my (%ids, @ids);
    $ids{$1} = $2 while $rest =~ /"(\w+)"\s*:\s*("[^"]*"|[^",]*)/g;
    for my $name (qw(hook_event_name session_id agent_id parent_agent_id tool_name tool_use_id reason)) {
        my $id = $ids{$name} // 'null';
        push @ids, qq("$name":$id) if $id =~ /^".+"\z/;
        return '' if $id !~ /^(?:".+"|null\s*)\z/;
    }
    my ($kind, $session) = @ids{qw(hook_event_name session_id)};
    return $kind =~ /^"(?:$kinds)"\z/ && ($session // '') =~ /^"/ ? join ',', @ids : '';
}

sub is_beginning {
    return $event =~ /"hook_event_name"\s*:\s*"(?:SessionStart|UserPromptSubmit|BeforeAgent)"/;
}

sub is_before_tool {
    return $event =~ /"hook_event_name"\s*:\s*"(?:PreToolUse|BeforeTool)"/;
}

sub is_edit {
    return is_before_tool() && $event =~ /"tool_name"\s*:\s*"(?:Edit|Write|NotebookEdit|apply_patch|write_file|replace)"/;
}

# Returns whether the person in this session was not told yet, and records it. A failed record counts as told.
sub is_untold {
    my ($session) = @_;
    my $told = "$home/unreached";
    mkdir $told, 0700;
    mkdir "$told/$session", 0700 or return 0;
    if (opendir my $list, $told) {
        my @others = map { /^([\w-]+)$/ && $1 ne $session ? "$told/$1" : () } readdir $list;
        if (@others >= $limits{toldSessionsMax}) { rmdir for @others }
    }
    return 1;
}
