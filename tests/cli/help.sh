#!/usr/bin/env bash
# shellcheck source-path=SCRIPTDIR disable=SC1091,SC2154
# --help of every command names every option; --version; who is told what.
. "$(dirname "$0")/../tap.sh"

ok "--version" "$ATTNRES" --version
like "$(cat out)" '^attnres [0-9]+\.[0-9]+\.[0-9]+ \([^)]+\)$' "the version and the commit"
ok "--help" "$ATTNRES" --help
for command in plan sim run study report topo; do
    like "$(cat out)" "^  $command  " "--help names $command"
done
like "$(cat out)" 'Exit codes: 0 fine, 1 .*, 2 .*, 3 .*, 4 ' "--help says the exit codes"
cp out help
is "$("$ATTNRES" -h)" "$(cat help)" "-h is --help"
is "$("$ATTNRES" help)" "$(cat help)" "help is --help"
for command in plan sim run study report topo 'topo generate'; do
    # shellcheck disable=SC2086
    ok "$command --help" "$ATTNRES" $command --help
    is "$(cat err)" "" "$command --help says nothing on stderr"
    like "$(head -n 1 out)" "^Usage: attnres ${command%% *}" "$command --help begins with its usage"
    cp out "help-${command% *}"
    is "$(awk 'length > 100' out)" "" "$command --help has no long lines"
done

# Every key of the issue's list, in every command that asks a point.
for command in plan sim run study; do
    missing=
    for option in model layers unit block width streams tokens dtype embedding mechanism cache stages \
        virtual microbatches schedule split remainder pass prefetch device platform hosts host-stride \
        tensor-parallel compute forward-time backward-time speed-ratio engine-model trace time-limit \
        output; do
        grep -Eq -- "^  --$option( |\$)" "help-$command" || missing="$missing --$option"
    done
    is "$missing" "" "$command --help names every option of a point, and --output"
done
for option in show format rank columns check; do
    like "$(cat help-plan)" "^  --$option( |\$)" "plan --help names --$option"
done
for option in nodes accelerators link-bandwidth nic oversubscription wan-latency; do
    like "$(cat help-topo)" "^  --$option( |\$)" "topo --help names --$option"
done

# And the table that parses has no option that the help lacks: the message of an
# unknown one lists them all.
"$ATTNRES" plan --no-such-option 1 2>err
legal=$(sed -n 's/.*legal: //p' err | tr -d ' ' | tr ',' '\n')
missing=
for option in $legal; do grep -q -- "^  $option" help-plan || missing="$missing $option"; done
is "$missing" "" "plan --help names every option that is legal"
ok "which are many" test "$(printf '%s\n' "$legal" | wc -l)" -ge 35
tap_done
