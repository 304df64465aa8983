# Find out whose a folder is where users share a place.

# is_own_part FOLDER: tell whether a folder is the user's own part of a place that users share. It
# may be a link, if the user or root has made the link.
is_own_part() {
  local owner user
  [[ -O $1 ]] || return
  [[ -L $1 ]] || return 0
  owner=$(stat -c %u -- "$1") || return
  user=$(id -u) || return
  [[ $owner == 0 || $owner == "$user" ]]
}
