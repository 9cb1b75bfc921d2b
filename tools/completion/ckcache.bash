# SPDX-License-Identifier: MIT
# bash completion of ckcache. Needs nothing but bash 4; with bash-completion
# what follows "ckcache run" is completed as the command that it is.

_ckcache()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
	local verb=${COMP_WORDS[1]} verbs options i IFS=$' \t\n'

	COMPREPLY=()
	verbs='run doctor stats list show explain verify prune clear export import replay report'
	if [[ $COMP_CWORD -eq 1 ]]; then
		COMPREPLY=($(compgen -W "$verbs help --help --version" -- "$cur"))
		return
	fi
	# A value after "=" is a word of its own, and so is the sign.
	if [[ $cur == '=' ]]; then
		cur=
	elif [[ $prev == '=' && $COMP_CWORD -gt 2 ]]; then
		prev=${COMP_WORDS[COMP_CWORD-2]}
	fi

	case $verb in
	help) COMPREPLY=($(compgen -W "$verbs" -- "$cur")); return ;;
	run) options='--dir --trace --summary --help' ;;
	doctor) options='--dir --json --quick --timeout --help' ;;
	stats) options='--dir --json --zero --help' ;;
	list) options='--dir --json --sort --reverse --limit --help' ;;
	show) options='--dir --json --source --help' ;;
	explain) options='--dir --json --last --all --trace --verbose --help' ;;
	verify) options='--dir --json --repair --help' ;;
	prune) options='--dir --json --help' ;;
	clear) options='--dir --json --help' ;;
	export) options='--dir --json --sign --help' ;;
	import) options='--dir --json --verify --help' ;;
	replay) options='--dir --json --jobs --timeout --stale --help' ;;
	report) options='--dir --help' ;;
	*) return ;;
	esac

	# The command of run begins at the first word that is neither an option nor a value,
	# that of explain after "--".
	if [[ $verb == run || ($verb == explain && " ${COMP_WORDS[*]:2:COMP_CWORD-2} " == *' -- '*) ]]; then
		for ((i = 2; i < COMP_CWORD; i++)); do
			case ${COMP_WORDS[i]} in
			--) ((i++)); break ;;
			--dir | --trace | --last) [[ ${COMP_WORDS[i+1]} == '=' ]] && ((i++)); ((i++)) ;;
			--*) ;;
			*) break ;;
			esac
		done
		if [[ ${COMP_WORDS[i-1]} == -- || $i -lt $COMP_CWORD ||
		      ($i -eq $COMP_CWORD && $cur != -*) ]]; then
			if declare -F _command_offset >/dev/null; then
				_command_offset "$i"
			elif [[ $i -eq $COMP_CWORD ]]; then
				COMPREPLY=($(compgen -c -- "$cur"))
			else
				compopt -o default 2>/dev/null
			fi
			return
		fi
	fi

	case $prev in
	--dir) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- "$cur")); return ;;
	--sort) COMPREPLY=($(compgen -W 'used size compile path' -- "$cur")); return ;;
	--limit | --last | --jobs | --timeout) return ;;
	--trace | --sign | --verify) compopt -o default 2>/dev/null; return ;;
	esac
	if [[ $cur == -* ]]; then
		COMPREPLY=($(compgen -W "$options" -- "$cur"))
	else
		case $verb in
		doctor) COMPREPLY=($(compgen -c -- "$cur")) ;;
		show | explain)
			COMPREPLY=($(compgen -W "$(ckcache list 2>/dev/null | sed '1d; s/ .*//')" -- "$cur"))
			;;
		export | import | report) compopt -o default 2>/dev/null ;;
		esac
	fi
}
complete -F _ckcache ckcache
