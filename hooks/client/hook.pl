#!/usr/bin/perl
# The hook client for machines that have perl: what hook.ts does, without the time that Node takes to start. It
# forwards one event from standard input to the daemon and prints the answer. It decides nothing. Whatever goes
# wrong, it exits 0 and the work goes on; only an answer of the daemon makes it refuse anything.
# `perl -T hook.pl MS`: it spends at most MS milliseconds, rounded up to whole seconds as alarm wants them.
# `perl -T hook.pl MS wake`: the one beside a Stop, for which nobody waits and whose exit code 2 wakes the session.
#
# It runs at every edit, so it loads no module (the build takes strict out); the numbers that Socket, Fcntl and Errno
# would give are those of Linux, else of macOS and the BSDs. -T makes perl ignore PERL5OPT and PERL5LIB. SIGTERM ends
# it at once, the connection closes, and the daemon knows that nobody waits any more.
use strict;

# As in protocol/limits.ts.
my $first_byte_ms = 1_000;
my $brief_ms      = 100;
my $reconnect_ms  = 5_000;
my $budget_ms     = 1_000;
my $failures_max  = 3;
my $window_ms     = 60_000;
my $pause_ms      = 30_000;
my $told_max      = 100;
my $nesting_max   = 128;
my $path_bytes    = 4096;
my $line_bytes    = 32 * 1024 * 1024;
my $reply_bytes   = 1024 * 1024;
my $retry_ms      = 50;

my @forwarded = qw(CLAUDE_PID CLAUDE_PROJECT_DIR CLAUDE_CODE_SESSION_ATTENDED CLAUDE_CODE_ENTRYPOINT HOME);
my $unreached = '{"systemMessage":"kite gives no answer: edits of this session are not coordinated with others'
    . ' (kite doctor says why)"}' . "\n";

my $wakes = ($ARGV[1] // '') eq 'wake';
my ($home, $event, $started, $asked, $parked, $lost_at) = ('', '', 0, 0, 0, 0);
my $patience_ms = $first_byte_ms;
$SIG{__DIE__}  = sub { exit 0 };
$SIG{__WARN__} = sub { };
$SIG{PIPE}     = 'IGNORE';
$SIG{ALRM}     = sub { let_go($asked) };

exit 0 if ($ENV{KITE} // '') eq 'off';
# What a pattern captured may be opened for writing under -T.
($home) = ($ENV{KITE_HOME} || ($ENV{HOME} || (getpwuid $<)[7]) . '/.kite') =~ m{^(/.*)}s or exit 0;
my $socket = "$home/kite.sock";
my $home_mode = mode_if_mine($home);
exit 0 if ($home_mode & 0170000) != 0040000 || $home_mode & 0022 || is_off();

my ($ms) = ($ARGV[0] // '') =~ /^([1-9]\d{0,8})/;
alarm int((($ms || $budget_ms) + 999) / 1_000);
$event = read_event();
let_go() if !is_socket() && !(start_daemon() && is_socket());
my $others_failed = lstat "$home/hook-failures";
let_go() if $others_failed && is_paused();
exit 0 if !is_one_object($event);
my $request = request_line($event);
exit 0 if length $request > $line_bytes;
$asked = 1;

# One connection after the other until there is an answer. The daemon writes a blank line at once when it parks the
# request; from then on a lost connection is worth coming back for, with the same bytes. So is, before a tool, one that
# was taken and closed without a word: that daemon lives and has no descriptor left for it.
while (1) {
    my $why = attempt($request);
    next if $why eq 'absent' && start_daemon();
    my $is_full = $why eq 'full' && !$parked && is_before_tool();
    let_go($why eq 'silent' || $why eq 'broken')
        if !($parked || $is_full) || $why eq 'broken' || $why eq 'refused';
    $lost_at ||= time;
    # In whole seconds, rounded up, as all of perl's own clock.
    let_go($why eq 'silent' || $is_full)
        if time - $lost_at >= ($is_full && $patience_ms == $brief_ms ? $brief_ms : $reconnect_ms) / 1_000;
    select undef, undef, undef, $retry_ms / 1_000;
}

# What `kite off` writes: an empty file, or one until the time it carries.
sub is_off {
    my ($size, $until) = (lstat "$home/off")[7, 9];
    return -f _ && ($size == 0 || $until > time);
}

sub is_socket {
    return (mode_if_mine($socket) & 0170000) == 0140000;
}

# The mode of what is there itself, no link followed; 0 where there is nothing or it is somebody else's.
sub mode_if_mine {
    my ($path) = @_;
    my ($mode, $uid) = (lstat $path)[2, 4];
    return defined $mode && $uid == $< ? $mode : 0;
}

# All of standard input, up to a little more than a request may be long.
sub read_event {
    my $text = '';
    binmode STDIN;
    1 while length $text <= $line_bytes && sysread STDIN, $text, 65_536, length $text;
    return $text;
}

# Whether the text is one whole object, so that it cannot close the request early, as far as strings and brackets
# tell: what is wrong beyond that makes the request as a whole no JSON, and the daemon refuses it.
sub is_one_object {
    my ($rest) = @_;
    return 0 if !utf8::decode(my $copy = $rest);
    # First the escapes that matter here, then strings: a pattern for both at once gives up on long strings.
    $rest =~ s/\\["\\]//g;
    $rest =~ s/"[^"\x00-\x1f]*"//g;
    return 0 if $rest =~ /["\x00-\x08\x0b\x0c\x0e-\x1f]/ || $rest !~ /^[ \t\r\n]*\{/;
    return 0 if substr($rest, rindex($rest, '}') + 1) =~ /[^ \t\r\n]/;
    $rest =~ tr/{}[]//cd;
    $rest = substr $rest, 1, -1;
    for (1 .. $nesting_max) { last if $rest !~ s/(?:\{\}|\[\])+//g }
    return $rest eq '';
}

# The request around the payload as received. A line break stands only between tokens, where a space means the same.
sub request_line {
    my ($payload) = @_;
    $payload =~ tr/\r\n/  /;
    my @env;
    for my $name (@forwarded) {
        my $value = $ENV{$name};
        next if !defined $value || length $value > $path_bytes || !utf8::decode(my $copy = $value);
        $value =~ s/(["\\\x00-\x1f])/sprintf '\u%04x', ord $1/ge;
        push @env, qq("$name":"$value");
    }
    my $env = join ',', @env;
    my $wake = $wakes ? ',"wake":true' : '';
    return qq({"type":"hook","event":$payload,"env":{$env},"ppid":${\getppid},"reply":"raw"$wake}\n);
}

# Connects, asks, and does what the answer says; returns only where there is none, and why: "absent", "full" (closed
# without a word), "closed", "silent", "restarting", "refused" or "broken".
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
        $sent += syswrite $daemon, $line, length $line, $sent or return 'full';
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
                return 'broken' if $1 > 255 || $2 + $3 + $4 > $reply_bytes;
                last if length($reply) - $end - 1 < $2 + $3 + $4;
                finish($1, unpack "x$end x a$2 a$3 a$4", $reply);
            }
            elsif ($head =~ /^\{"ok":false,/) { return $head =~ /"code":"restarting"/ ? 'restarting' : 'refused' }
            elsif ($head !~ /^\{"type":"event",/) { return 'broken' }
            substr $reply, 0, $end + 1, '';
        }
        return 'broken' if length $reply > 2 * $reply_bytes;
    }
}

# Whether a handle can be read or written; waits for it, without end where no seconds are given.
sub is_ready {
    my ($handle, $to_write, $seconds) = @_;
    vec(my $bits = '', fileno $handle, 1) = 1;
    my ($read, $write) = $to_write ? (undef, $bits) : ($bits, undef);
    return 0 < select $read, $write, undef, $seconds;
}

# Does what the daemon said, and ends.
sub finish {
    my ($code, $output, $error, $env) = @_;
    alarm 0;
    if ($env ne '') {
        # Statements of their own: what came from outside taints all of its statement.
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
        # Who does not read any more cannot be told.
        $put += syswrite $handle, $bytes, length $bytes, $put or return;
    }
}

# What most hooks never need is compiled when it is first called: reading it costs as much as starting perl.
sub AUTOLOAD {
    my $name = our $AUTOLOAD;
    my ($rest) = join('', <DATA>) =~ /(.*)/s;
    eval "$rest; 1" && defined &$name or exit 0;
    goto \&$name;
}

__DATA__

# Where a session or a turn begins and nobody listens, the launcher that `kite install` wrote starts the daemon and
# ends when it answers; if that takes longer than this hook may, it goes on without it. Once.
sub start_daemon {
    my $start = "$home/bin/start";
    return 0 if $started || $event !~ /"hook_event_name"\s*:\s*"(?:SessionStart|UserPromptSubmit)"/ || !-x $start;
    $started = 1;
    my $pid = fork;
    return 0 if !defined $pid;
    if (!$pid) {
        setpgrp 0, 0;
        $SIG{PIPE} = 'DEFAULT';
        # What -T does not trust in a program's surroundings; the launcher brings its own.
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

# Three failures within a minute: for half a minute nobody asks, unless the socket is newer than they are. What waits
# before a tool asks all the same, or it would run past others' locks: only briefly when three of its kind failed.
sub is_paused {
    # Only a regular file is opened: a pipe would hold up the hook.
    lstat "$home/hook-failures";
    -f _ && open my $file, '<', "$home/hook-failures" or return 0;
    sysseek $file, -1_100, 2;
    sysread $file, my $lines, 1_100;
    return 0 if !is_recent($lines =~ /^(\d{10})(?: tool)?$/mg);
    return 1 if !is_before_tool();
    $patience_ms = $brief_ms if is_recent($lines =~ /^(\d{10}) tool$/mg);
    return 0;
}

# Whether the last of these failures call for a pause.
sub is_recent {
    return 0 if @_ < $failures_max;
    my ($first, $last) = @_[-$failures_max, -1];
    my $age = time - $last;
    return $last - $first <= $window_ms / 1_000
        && (lstat $socket)[9] <= $last
        && $age >= 0
        && $age < $pause_ms / 1_000;
}

# The daemon answers: what failed before keeps nobody from asking any more.
sub end_pause {
    unlink "$home/hook-failures";
    ($others_failed, $patience_ms) = (0, $first_byte_ms);
}

# Ends without an answer. When it `failed`, that counts towards a pause, unless the hook beside it counts it or it
# waited only briefly. Once in a session, when an edit goes ahead though nobody looked, the person is told, unless
# nobody is meant to look.
sub let_go {
    my ($failed) = @_;
    alarm 0;
    my $failures = "$home/hook-failures";
    my $counts = $failed && !$wakes && $patience_ms != $brief_ms;
    $counts &&= !lstat $failures || -f _;
    if ($counts && open my $file, (-s _ // 0) < 1_024 ? '>>' : '>', $failures) {
        put($file, sprintf "%010d%s\n", time, is_before_tool() ? ' tool' : '');
    }
    if (is_edit() && !-e "$home/down" && $event =~ /"session_id"\s*:\s*"([\w-]{1,100})"/ && is_untold($1)) {
        put(\*STDOUT, $unreached);
    }
    exit 0;
}

sub is_before_tool {
    return $event =~ /"hook_event_name"\s*:\s*"PreToolUse"/;
}

sub is_edit {
    return is_before_tool() && $event =~ /"tool_name"\s*:\s*"(?:Edit|Write|NotebookEdit)"/;
}

# Whether the session was not told yet; from now on it was. Where that cannot be kept, it counts as told.
sub is_untold {
    my ($session) = @_;
    my $told = "$home/unreached";
    mkdir $told, 0700;
    mkdir "$told/$session", 0700 or return 0;
    if (opendir my $list, $told) {
        my @others = map { /^([\w-]+)$/ && $1 ne $session ? "$told/$1" : () } readdir $list;
        if (@others >= $told_max) { rmdir for @others }
    }
    return 1;
}
