# SPDX-License-Identifier: Apache-2.0
# Completion of brig for fish.

function __brig_languages
    brig runtimes --json 2>/dev/null | string match -ar '"name": *"[^"]*"' | string replace -r '.*"([^"]*)"$' '$1'
end

function __brig_policies
    brig policy list 2>/dev/null | string replace -r ' .*' ''
end

complete -c brig -f
complete -c brig -n __fish_use_subcommand -a run -d 'run code or a program in a cell'
complete -c brig -n __fish_use_subcommand -a explain -d 'show the plan of a run without running it'
complete -c brig -n __fish_use_subcommand -a doctor -d 'say what this host can enforce'
complete -c brig -n __fish_use_subcommand -a runtimes -d 'list the languages that are here'
complete -c brig -n __fish_use_subcommand -a policy -d 'list, show or check policies'
complete -c brig -n __fish_use_subcommand -a bench -d 'measure cold and warm runs on this host'
complete -c brig -n __fish_use_subcommand -a help -d 'explain a command'
complete -c brig -n __fish_use_subcommand -a version -d 'print the version'
complete -c brig -n __fish_use_subcommand -l version -d 'print the version'
complete -c brig -l help -d 'explain the command'

set -l run '__fish_seen_subcommand_from run explain'
complete -c brig -n $run -F
complete -c brig -n $run -s c -x -d 'code to run'
complete -c brig -n $run -l lang -x -a '(__brig_languages)' -d 'language of the code'
complete -c brig -n '__fish_seen_subcommand_from run explain doctor' -l policy -x -a '(__brig_policies)' -d 'policy to run under'
complete -c brig -n $run -l timeout -x -d 'wall-clock time, as 5s'
complete -c brig -n $run -l cpu-time -x -d 'processor time, as 5s'
complete -c brig -n $run -l cpu -x -d 'share of processors, as 0.5'
complete -c brig -n $run -l memory -x -d 'memory of all processes, as 256M'
complete -c brig -n $run -l processes -x -d 'processes and threads'
complete -c brig -n $run -l disk -x -d 'bytes in all writable places'
complete -c brig -n $run -l inodes -x -d 'files in all writable places'
complete -c brig -n $run -l open-files -x -d 'open files of one process'
complete -c brig -n $run -l file-size -x -d 'largest single file'
complete -c brig -n $run -l stdout -x -d 'standard output that is kept'
complete -c brig -n $run -l stderr -x -d 'standard error that is kept'
complete -c brig -n $run -l env -x -d 'NAME=VALUE of the environment'
complete -c brig -n $run -l in -r -d 'file to copy in'
complete -c brig -n $run -l out -x -d 'files to copy out, as a glob'
complete -c brig -n $run -l out-dir -x -a '(__fish_complete_directories)' -d 'where files are written'
complete -c brig -n $run -l out-exec -d 'files that come back keep their execute bits'
complete -c brig -n $run -l force -d 'replace files that are there already'
complete -c brig -n $run -l ro -x -a '(__fish_complete_directories)' -d 'directory to show read-only'
complete -c brig -n $run -l rw -x -a '(__fish_complete_directories)' -d 'directory to show writable'
complete -c brig -n '__fish_seen_subcommand_from run' -l start -x -a 'auto cold warm' -d 'where the cell comes from'
complete -c brig -n '__fish_seen_subcommand_from run' -l tenant -x -d 'whose code this is'
complete -c brig -n '__fish_seen_subcommand_from run' -l value -d 'report the value of the last expression'
complete -c brig -n $run -l changes -d 'report created, modified and deleted files'
complete -c brig -n $run -l yes -d 'a person agrees to this run'
complete -c brig -n $run -l no-cache -d 'compile anew'
complete -c brig -n $run -l json -d 'print the result object'
complete -c brig -n '__fish_seen_subcommand_from run' -l json-schema -d 'print the schema of the result object'
complete -c brig -n $run -l time -d 'tell what the run used, or how long each step took'
complete -c brig -n '__fish_seen_subcommand_from run explain runtimes policy' -l config -x -a '(__fish_complete_directories)' -d 'directory of the operator'
complete -c brig -n '__fish_seen_subcommand_from doctor runtimes policy' -l json -d 'print JSON'
complete -c brig -n '__fish_seen_subcommand_from policy' -F -a 'list show check'

set -l bench '__fish_seen_subcommand_from bench'
complete -c brig -n $bench -F
complete -c brig -n $bench -s c -x -d 'code to run'
complete -c brig -n $bench -l lang -x -a '(__brig_languages)' -d 'language of the code'
complete -c brig -n $bench -l policy -x -a '(__brig_policies)' -d 'policy to run under'
complete -c brig -n $bench -l runs -x -d 'runs for each line of the table'
complete -c brig -n $bench -l in-flight -x -d 'runs at a time'
complete -c brig -n $bench -l cells -x -d 'ready cells'
complete -c brig -n $bench -l config -x -a '(__fish_complete_directories)' -d 'directory of the operator'
complete -c brig -n $bench -l yes -d 'a person agrees to these runs'
complete -c brig -n $bench -l json -d 'print JSON'
